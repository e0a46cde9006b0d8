"""Changing many prices at once: preview, confirmation, undo."""

from datetime import timedelta
from decimal import Decimal
from urllib.parse import urlencode

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import TextField
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.catalogue import bulk_prices
from apps.catalogue.bulk_prices import (
    Operation,
    PriceFormula,
    apply_batch,
    fingerprint,
    prepare_batch,
    preview,
    undo_batch,
)
from apps.catalogue.models import Degree, Lesson, PriceBatch, PriceChange, Subject, University
from apps.catalogue.price_questions import PricesUnconfirmed
from apps.core.privacy import purge_all
from apps.core.web.throttle import Limit
from tests.helpers.admin import admin_url, make_staff
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db


@pytest.fixture
def carla(client):
    user = get_user_model().objects.create_superuser("carla", password="clave-de-carla")
    client.force_login(user)
    return user


@pytest.fixture
def two():
    """Two subjects at 149.90 € and 100.00 €, with a lesson each at the factory's price."""
    return [
        make_subject("Álgebra", price="149.90", lessons=1),
        make_subject("Física", price="100.00", lessons=1),
    ]


def chosen(client, *subjects, **more):
    """Choose subjects in the list and return the address of their batch."""
    ticked = {"action": "change_prices", "_selected_action": [s.pk for s in subjects], **more}
    return client.post(admin_url(Subject, "changelist"), ticked)["Location"]


def apply(client, url, **values):
    """Preview a change and apply it as previewed."""
    preview = client.get(url, {"step": "1", **values})
    assert preview.context["is_preview"], preview.content.decode()
    address = preview.wsgi_request.get_full_path()
    answer = {"fingerprint": preview.context["fingerprint"]}
    return preview, lambda **more: client.post(address, {**answer, **more}, follow=True)


def prices():
    return sorted(Subject.objects.values_list("final_price", flat=True))


@pytest.mark.parametrize(
    ("operation", "hundredths", "step", "before", "after"),
    [
        (Operation.PERCENT_UP, 10_00, 1, 149_90, 164_89),
        (Operation.PERCENT_DOWN, 12_50, 1, 100_00, 87_50),
        (Operation.PERCENT_DOWN, 100_00, 1, 100_00, 0),
        (Operation.EUROS_UP, 50, 1, 149_90, 150_40),
        (Operation.EUROS_DOWN, 200_00, 1, 149_90, 0),
        (Operation.SET, 99_00, 1, 149_90, 99_00),
        (Operation.PERCENT_UP, 10_00, 100, 149_90, 165_00),
        (Operation.PERCENT_UP, 0, 50, 149_75, 150_00),
        (Operation.EUROS_UP, 900_000_00, 1, 149_90_00, 914_990_00),
        (Operation.PERCENT_UP, 999_999_99, 1, 149_90, 999_999_99),
    ],
)
def test_formula_rounds_half_up_once_and_never_leaves_the_column(
    operation, hundredths, step, before, after
):
    assert PriceFormula(operation, hundredths, step).new_cents(before) == after


@pytest.mark.usefixtures("carla")
def test_chosen_prices_change_as_previewed_and_one_undo_restores_them(client, two):
    other = make_subject("Otra", price="80.00", degree=two[0].degree)
    url = chosen(client, *two)
    preview, go_on = apply(client, url, operation="percent_up", value="10", step="1")
    page = preview.content.decode()
    assert "149,90\N{NO-BREAK SPACE}€" in page
    assert "164,89\N{NO-BREAK SPACE}€" in page
    assert prices() == [Decimal("80.00"), Decimal("100.00"), Decimal("149.90")]

    go_on()
    go_on()  # A second click, or a second tab, does not undo it.
    assert prices() == [Decimal("80.00"), Decimal("110.00"), Decimal("164.89")]
    batch = PriceBatch.objects.get()
    assert (batch.summary, batch.prices_count) == ("Subir un 10 %", 2)
    assert not PriceChange.objects.filter(subject=other, before__isnull=False).exists()

    page = client.post(url, follow=True).content.decode()
    assert "Precios como antes: 2." in page
    assert prices() == [Decimal("80.00"), Decimal("100.00"), Decimal("149.90")]
    assert "Deshacer este cambio" not in page
    assert "ya está deshecho" in client.post(url, follow=True).content.decode()
    assert PriceChange.objects.filter(batch=batch).count() == 2


@pytest.mark.usefixtures("carla")
def test_lessons_change_with_their_subjects_only_if_asked(client, two):
    before = set(Lesson.objects.values_list("price", flat=True))
    _, go_on = apply(client, chosen(client, *two), operation="set", value="99,00")
    go_on()
    assert set(Lesson.objects.values_list("price", flat=True)) == before

    values = {"operation": "euros_up", "value": "1,50", "with_lessons": "on"}
    _, go_on = apply(client, chosen(client, *two), **values)
    go_on()
    assert set(Lesson.objects.values_list("price", flat=True)) == {
        price + Decimal("1.50") for price in before
    }


@pytest.mark.usefixtures("carla")
def test_price_that_was_changed_again_since_stays_after_the_undo(client, two):
    url = chosen(client, *two)
    _, go_on = apply(client, url, operation="percent_up", value="10")
    go_on()
    two[0].refresh_from_db()
    two[0].final_price = Decimal("150.00")
    two[0].save()

    page = client.post(url, follow=True).content.decode()

    assert prices() == [Decimal("100.00"), Decimal("150.00")]
    assert "1 precio se ha cambiado otra vez desde entonces y se queda así." in page


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("value", ["51", "100"])
def test_change_beyond_a_half_is_applied_only_after_a_confirmation(client, two, value):
    _, go_on = apply(client, chosen(client, *two), operation="percent_down", value=value)
    assert "confirma los precios" in go_on().content.decode()
    assert prices() == [Decimal("100.00"), Decimal("149.90")]

    go_on(confirmed="1")
    assert prices() != [Decimal("100.00"), Decimal("149.90")]


@pytest.mark.usefixtures("carla")
def test_preview_that_is_out_of_date_changes_nothing(client, two):
    _, go_on = apply(client, chosen(client, *two), operation="percent_up", value="10")
    two[0].final_price = Decimal("150.00")
    two[0].save()

    assert "Los precios han cambiado entretanto" in go_on().content.decode()
    assert prices() == [Decimal("100.00"), Decimal("150.00")]


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(
    "values",
    [
        {"operation": "percent_down", "value": "101"},
        {"operation": "percent_up", "value": "1.234"},
        {"operation": "set", "value": "-5"},
        {"operation": "rob", "value": "5"},
        {"operation": "set", "value": "5", "step": "7"},
        {"operation": "set", "value": "9" * 40},
    ],
)
def test_senseless_change_shows_no_preview(client, two, values):
    url = chosen(client, *two)
    values = {"step": "1", **values}
    assert "is_preview" not in client.get(url, values).context
    answer = client.post(f"{url}?{urlencode(values)}", {"fingerprint": "x", "confirmed": "1"})
    assert answer.status_code == 302
    assert prices() == [Decimal("100.00"), Decimal("149.90")]


def test_preview_change_and_undo_read_prices_and_names_but_no_texts(carla, two):
    """The texts of subjects, degrees and universities, once for each lesson, took 760 MB."""
    texts = {
        f'"{model._meta.db_table}"."{field.column}"'
        for model in (University, Degree, Subject, Lesson)
        for field in model._meta.concrete_fields
        if isinstance(field, TextField)
    }
    assert texts
    batch = prepare_batch(None, subject_ids=[subject.pk for subject in two])
    formula = PriceFormula(Operation.EUROS_UP, 100)
    with CaptureQueriesContext(connection) as seen:
        steps = preview(batch, formula, with_lessons=True)
        assert all(step.name and step.place for step in steps)
        apply_batch(
            batch_id=batch.pk, formula=formula, with_lessons=True,
            expected=fingerprint(steps), user=carla,
        )  # fmt: skip
        assert undo_batch(batch_id=batch.pk, user=None) == (4, 0)
    assert not {name for query in seen.captured_queries for name in texts if name in query["sql"]}


def test_queries_of_a_batch_do_not_grow_with_its_lessons(carla, django_assert_num_queries):
    formula = PriceFormula(Operation.EUROS_UP, 100)
    for name, lessons in (("Álgebra", 2), ("Física", 20)):
        batch = prepare_batch(None, subject_ids=[make_subject(name, lessons=lessons).pk])
        with django_assert_num_queries(5):
            steps = preview(batch, formula, with_lessons=True)
            assert all(step.name and step.place for step in steps)
        with django_assert_num_queries(15):
            apply_batch(
                batch_id=batch.pk, formula=formula, with_lessons=True,
                expected=fingerprint(steps), user=carla,
            )  # fmt: skip
        with django_assert_num_queries(10):
            undo_batch(batch_id=batch.pk, user=None)


@pytest.mark.usefixtures("carla")
def test_more_prices_than_a_process_can_hold_are_refused_and_change_nothing(
    client, two, monkeypatch
):
    url = chosen(client, *two)
    values = {"operation": "set", "value": "99", "step": "1", "with_lessons": "on"}
    monkeypatch.setattr("apps.catalogue.bulk_prices.MOST_PRICES", 3)
    page = client.get(url, values)
    assert "is_preview" not in page.context
    assert "elige menos asignaturas" in page.content.decode()
    answer = client.post(f"{url}?{urlencode(values)}", {"fingerprint": "x"}, follow=True)
    assert "elige menos asignaturas" in answer.content.decode()
    assert prices() == [Decimal("100.00"), Decimal("149.90")]


def test_drafts_are_deleted_after_a_day_and_changes_are_kept(client, two):
    _old, done = (PriceBatch.objects.create(subject_ids=[two[0].pk]) for _ in range(2))
    new = PriceBatch.objects.create()
    PriceBatch.objects.filter(pk=done.pk).update(applied_at=timezone.now())
    day = timedelta(days=1, minutes=1)
    PriceBatch.objects.exclude(pk=new.pk).update(created_at=timezone.now() - day)

    purge_all()

    assert set(PriceBatch.objects.values_list("pk", flat=True)) == {done.pk, new.pk}


def test_the_service_itself_refuses_surprising_prices_without_a_confirmation(carla, two):
    batch = prepare_batch(None, subject_ids=[two[0].pk])
    formula = PriceFormula(Operation.SET, 0)
    expected = fingerprint(preview(batch, formula, with_lessons=False))
    terms = {"batch_id": batch.pk, "formula": formula, "with_lessons": False,
             "expected": expected, "user": carla}  # fmt: skip
    with pytest.raises(PricesUnconfirmed) as refused:
        apply_batch(**terms)
    assert refused.value.lines == ["Álgebra"]
    assert apply_batch(**terms, is_confirmed=True).prices_count == 1


@pytest.mark.parametrize("missing", ["view_pricebatch", "change_lesson", "change_subject"])
def test_choosing_prices_needs_the_permissions_of_the_whole_change(client, two, missing):
    names = {"view_subject", "view_pricebatch", "change_lesson", "change_subject"} - {missing}
    make_staff("eva", *names, client=client)
    client.post(
        admin_url(Subject, "changelist"),
        {"action": "change_prices", "_selected_action": two[0].pk},
    )
    assert not PriceBatch.objects.exists()


def test_a_batch_needs_the_permission_to_change_prices(client, two):

    ana = make_staff("ana", group="Atención", client=client)
    batch = PriceBatch.objects.create(created_by=ana, subject_ids=[two[0].pk])
    url = admin_url(PriceBatch, "change", batch.pk) + "?operation=set&value=1&step=1"

    page = client.get(url)
    assert page.status_code == 200
    assert page.context["is_preview"]
    assert b"Cambiar 1 precio<" not in page.content
    assert client.post(url, {"confirmed": "1"}).status_code == 403
    assert prices() == [Decimal("100.00"), Decimal("149.90")]


FORM = {
    "name": "Álgebra", "total_discounts": "0", "active": "on", "enrolled_offset": "0",
    "vat": "general",
    "lessons-TOTAL_FORMS": "0", "lessons-INITIAL_FORMS": "0",
    "price_changes-TOTAL_FORMS": "0", "price_changes-INITIAL_FORMS": "0",
}  # fmt: skip


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("typed", ["139,90", "139.9", "139,90 €"])
def test_form_of_a_subject_understands_a_decimal_comma(client, two, typed):
    url = admin_url(Subject, "change", two[0].pk)
    assert 'value="149,90"' in client.get(url).content.decode()

    answer = client.post(url, {**FORM, "degree": two[0].degree_id, "final_price": typed})

    assert answer.status_code == 302
    two[0].refresh_from_db()
    assert two[0].final_price == Decimal("139.90")


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(("price", "cents"), [("0", "0"), ("60", "6000"), ("230", "23000")])
def test_form_asks_before_a_surprising_price_and_takes_the_answer(client, two, price, cents):
    url = admin_url(Subject, "change", two[0].pk)
    form = {**FORM, "degree": two[0].degree_id, "final_price": price}

    page = client.post(url, form)
    assert page.status_code == 200
    assert f'name="price_confirmed" value=":{cents}"' in page.content.decode()
    # The answer to another question does not count.
    assert client.post(url, {**form, "price_confirmed": ":1"}).status_code == 200
    assert prices() == [Decimal("100.00"), Decimal("149.90")]

    assert client.post(url, {**form, "price_confirmed": f":{cents}"}).status_code == 302
    two[0].refresh_from_db()
    assert two[0].final_price == Decimal(price)


@pytest.mark.usefixtures("carla")
def test_row_of_a_lesson_asks_before_it_becomes_free(client, two):
    lesson = two[0].lessons.get()
    form = {
        **FORM, "degree": two[0].degree_id, "final_price": "149.90",
        "lessons-TOTAL_FORMS": "1", "lessons-INITIAL_FORMS": "1",
        "lessons-0-id": lesson.pk, "lessons-0-subject": two[0].pk, "lessons-0-position": "1",
        "lessons-0-title": lesson.title, "lessons-0-price": "0", "lessons-0-status": "active",
    }  # fmt: skip
    url = admin_url(Subject, "change", two[0].pk)

    assert "se podrá comprar gratis" in client.post(url, form).content.decode()
    assert client.post(url, {**form, "price_confirmed": "lessons-0:0"}).status_code == 302
    lesson.refresh_from_db()
    assert lesson.price == 0


def test_account_applies_a_bounded_number_of_changes_a_day(client, carla, two, monkeypatch):
    """Each adds a row for each price, which pages of the shop read for 60 days."""
    monkeypatch.setattr(bulk_prices, "BATCHES_A_DAY", Limit("few", times=1, seconds=86_400))
    for euros, is_applied in ((1, True), (2, False)):
        _, press = apply(client, chosen(client, *two), operation="euros_up", value=euros)
        assert ("Demasiados" not in press().text) == is_applied
    assert set(PriceBatch.objects.exclude(applied_at=None).values_list("prices_count")) == {(2,)}

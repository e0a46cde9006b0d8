"""Making many promo codes at once in the admin."""

import csv
import io
import re
from decimal import Decimal

import pytest
from django.db import transaction
from django.urls import reverse

from apps.core.models import StaffAction
from apps.leads.models import Lead
from apps.orders.models import Order, PromoUse
from apps.orders.promo.uses import release
from apps.pricing.models import PromoBatch, PromoCode
from apps.students.models import Student
from tests.helpers.admin import admin_url, forget_password, make_staff, press
from tests.helpers.factories import make_promo, make_subject
from tests.helpers.friend_codes import place_order

pytestmark = pytest.mark.django_db

FORM = {
    "name": "Feria", "pattern": " feria-###### ", "count": "50", "kind": "FIJO", "value": "12,50",
    "max_uses": "1", "max_uses_per_student": "", "minimum_cart": "100",
    "valid_from_0": "", "valid_from_1": "", "valid_until_0": "31/12/2026",
    "valid_until_1": "23:59:59",
}  # fmt: skip
# Without 0, O, 1, I and L.
UNAMBIGUOUS = re.compile(r"FERIA-[A-HJKMNP-Z2-9]{6}")


@pytest.mark.parametrize("group", ["Atención", "Contabilidad", "Contenido"])
def test_fields_offer_masked_codes_only_if_they_are_typed_whole(client, group):
    """Any field that leads to codes offers them, whether or not a form of the admin has it."""
    batch = PromoBatch.objects.create(name="Feria", pattern="FERIA-######")
    PromoCode.objects.create(code="FERIA-ABCDEF", kind="PORCENTAJE", value=100, batch=batch)
    PromoCode.objects.create(code="FERIANTE", kind="FIJO", value=1)
    make_staff("lucia", group=group, client=client)
    masked = group != "Contenido"
    fields = [one.field for one in PromoCode._meta.related_objects if not one.many_to_many]
    assert len(fields) >= 5

    for field in fields:
        about = {"app_label": field.model._meta.app_label, "model_name": field.model.__name__}
        for term in ("", " ", "FERIA", "feria-abcdef"):
            asked = {**about, "field_name": field.name, "term": term}
            offered = client.get(reverse("admin:autocomplete"), asked).json()["results"]
            codes = {row["text"] for row in offered}
            is_whole = term == "feria-abcdef"
            assert ("FERIA-ABCDEF" in codes) == (is_whole or not masked), (field, term)
            assert ("FERIANTE" in codes) != is_whole, (field, term)


@pytest.mark.usefixtures("carla")
def test_fifty_codes_are_unique_unambiguous_restricted_and_downloaded(client):
    subject = make_subject()
    answer = client.post(admin_url(PromoBatch, "add"), {**FORM, "subjects": [subject.pk]})

    batch = PromoBatch.objects.get()
    assert answer["Location"] == admin_url(PromoBatch, "change", batch.pk)
    again = client.post(admin_url(PromoBatch, "add"), {**FORM, "subjects": [subject.pk]})
    assert "Ya hay una tanda con este nombre" in again.text
    codes = list(PromoCode.objects.all())
    assert len({code.code for code in codes}) == len(codes) == 50
    assert all(UNAMBIGUOUS.fullmatch(code.code) for code in codes)
    assert {(c.kind, c.value, c.max_uses, c.minimum_cart) for c in codes} == {
        ("FIJO", Decimal("12.50"), 1, Decimal(100))
    }
    assert all(list(code.subjects.all()) == [subject] for code in codes[:3])

    url = reverse("admin:pricing_promobatch_csv", args=[batch.pk])
    file = client.get(url)
    rows = list(csv.reader(io.StringIO(file.content.decode("utf-8-sig")), delimiter=";"))
    assert len(rows) == 51
    assert rows[1][0] in {code.code for code in codes}
    assert rows[1][1].endswith(f"/compra?codigo={rows[1][0]}")
    assert rows[1][2:] == ["12,50\N{NO-BREAK SPACE}€", "31/12/2026", "0", "1"]
    forget_password(client)
    assert client.get(url)["Location"].startswith(reverse("admin:confirm_password"))
    assert StaffAction.objects.get(text__startswith="Códigos descargados").kind == "exported"


@pytest.mark.parametrize("group", ["Atención", "Contabilidad", "Contenido"])
def test_codes_of_a_batch_are_masked_for_whoever_may_not_download_them(client, group):
    """Each is money to whoever reads it before its owner."""
    batch = PromoBatch.objects.create(name="Feria", pattern="FERIA-######")
    for code in ("FERIA-ABCDEF", "FERIA-AZZZZZ"):
        PromoCode.objects.create(code=code, kind="PORCENTAJE", value=100, batch=batch)
    PromoCode.objects.create(code="FERIANTE", kind="FIJO", value=1)
    make_staff("lucia", group=group, client=client)
    masked = group != "Contenido"
    codes = admin_url(PromoCode, "changelist")

    page = client.get(codes, {"batch__id__exact": batch.pk}).text
    # Labels of boxes are masked for all, also for who may download the codes.
    assert page.count("FERIA-••••••") == 2
    assert ("FERIA-ABCDEF" in page) != masked
    for part in ("FERIA-A", "abcdef", "FERIA-ABCDE"):
        found = client.get(codes, {"q": part}).context["cl"].result_count
        assert (found == 0) == masked
    for text, count in (("feriante", 1), ("feria-abcdef", 1)):
        assert client.get(codes, {"q": text}).context["cl"].result_count == count

    assert "FERIANTE" in client.get("/admin/buscar", {"q": "feria"}, follow=True).text
    assert "FERIA-A" not in client.get("/admin/buscar", {"q": "feria-a"}, follow=True).text
    opened = client.get("/admin/buscar", {"q": "feria-abcdef"}, follow=True)
    row = PromoCode.objects.get(code="FERIA-ABCDEF")
    assert opened.request["PATH_INFO"] == admin_url(PromoCode, "change", row.pk)
    readings = StaffAction.objects.filter(about="pricing.promocode", kind="read")
    assert readings.filter(object_id=str(row.pk), actor_name="lucia").exists()


def test_label_of_a_rows_box_names_no_code_of_a_batch(client):
    """The list has boxes for whoever may delete codes, also without downloading batches."""
    batch = PromoBatch.objects.create(name="Feria", pattern="FERIA-######")
    PromoCode.objects.create(code="FERIA-ABCDEF", kind="FIJO", value=1, batch=batch)
    make_staff("lucia", "view_promocode", "delete_promocode", client=client)

    page = client.get(admin_url(PromoCode, "changelist")).text
    assert 'name="_selected_action"' in page
    assert "FERIA-ABCDEF" not in page


@pytest.mark.parametrize("group", ["Atención", "Contabilidad"])
def test_unused_code_of_a_batch_is_masked_in_the_list_of_uses_too(client, group):
    batch = PromoBatch.objects.create(name="Feria", pattern="FERIA-######")
    make_promo("FERIA-ABCDEF", kind="FIJO", value="100", batch=batch, max_uses=1)
    placed = place_order(make_subject(price="200.00"), total=9000, code="FERIA-ABCDEF")
    with transaction.atomic():
        release(placed.order)
    make_staff("lucia", group=group, client=client)
    uses = admin_url(PromoUse, "changelist")

    page = client.get(uses).text
    assert "FERIA-••••••" in page
    assert "FERIA-ABCDEF" not in page
    for text, count in (("ABC", 0), ("feria-abcdef", 1), (placed.order.email, 1)):
        assert client.get(uses, {"q": text}).context["cl"].result_count == count


@pytest.mark.usefixtures("carla")
def test_codes_that_somebody_was_given_are_not_deleted(client):
    batch = PromoBatch.objects.create(name="Feria", pattern="FERIA-######")
    of_batch = make_promo("FERIA-ABCDEF", kind="FIJO", value="15", batch=batch)
    student = Student.objects.create(email="popular@example.com")
    of_friend = make_promo("AMIGO-X", kind="FIJO", value="15", is_referral_code=True,
                           student=student)  # fmt: skip
    of_lead = make_promo("DTO5-ABCDEFGH", value="5", max_uses=1)
    Lead.objects.create(kind="discount", email="ana@example.com", promo_code=of_lead)
    for code in (of_batch, of_friend, of_lead):
        answer = client.post(admin_url(PromoCode, "delete", code.pk), {"post": "yes"})
        assert answer.status_code == 403
    press(client, admin_url(PromoCode, "changelist"), "delete_selected", of_batch, of_friend,
          of_lead, post="yes")  # fmt: skip
    assert PromoCode.objects.count() == 3


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"pattern": "FERIA-####"}, "al menos 6 #"),
        ({"pattern": "=FERIA-######"}, "empieza por letra o cifra"),
        ({"pattern": "FERIA ÑU ######"}, "empieza por letra o cifra"),
        ({"pattern": "#" * 41}, "empieza por letra o cifra"),
        ({"count": "5001"}, "menor o igual"),
        ({"kind": "PORCENTAJE", "value": "101"}, "no puede pasar de 100"),
        ({"valid_from_0": "01/01/2027", "valid_from_1": "00:00"}, "anterior al principio"),
        ({"value": "0"}, "mayor o igual"),
        ({"max_uses": "0"}, "mayor o igual"),
    ],
)
def test_senseless_batch_makes_no_codes(client, changes, sentence):
    page = client.post(admin_url(PromoBatch, "add"), FORM | changes)

    assert page.status_code == 200
    assert sentence in page.content.decode()
    assert not PromoCode.objects.exists()
    assert not PromoBatch.objects.exists()


@pytest.mark.usefixtures("carla")
def test_batch_with_too_many_restrictions_makes_no_codes(client, monkeypatch):
    monkeypatch.setattr("apps.pricing.code_batches.MOST_RESTRICTIONS", 99)
    chosen = [make_subject(name).pk for name in ("Álgebra", "Física")]

    page = client.post(admin_url(PromoBatch, "add"), {**FORM, "subjects": chosen})

    assert "como mucho 1 entre universidades" in page.content.decode()
    assert not PromoBatch.objects.exists()


@pytest.mark.usefixtures("carla")
def test_code_that_exists_is_not_made_again(client, monkeypatch):
    PromoCode.objects.create(code="FERIA-AAAAAA", kind="FIJO", value=1)
    drawn = iter(["AAAAAA", "BBBBBB", "BBBBBB", "CCCCCC"])
    monkeypatch.setattr("apps.pricing.code_batches.random_code", lambda *_: next(drawn))

    client.post(admin_url(PromoBatch, "add"), {**FORM, "count": "2"})

    made = PromoBatch.objects.get().codes.values_list("code", flat=True)
    assert sorted(made) == ["FERIA-BBBBBB", "FERIA-CCCCCC"]


@pytest.mark.usefixtures("carla")
def test_uses_and_euros_are_shown_for_each_code_and_batch_and_codes_are_switched_off(client):
    batch = PromoBatch.objects.create(name="Feria", pattern="FERIA-######")
    used, unused = (
        PromoCode.objects.create(code=code, kind="FIJO", value=5, batch=batch)
        for code in ("FERIA-AAAAAA", "FERIA-BBBBBB")
    )
    student = Student.objects.create(email="ana@example.com")
    for status, total in (("used", "149.90"), ("used", "100.00"), ("reserved", "60.00")):
        order = Order.objects.create(
            student=student, email=student.email, total_amount=Decimal(total), promo_code=used
        )
        PromoUse.objects.create(promo_code=used, order=order, student=student, status=status)

    row = PromoBatch.objects.with_figures().get()
    assert (row.codes_count, row.uses, row.sold) == (2, 2, Decimal("249.90"))
    by_code = dict(PromoCode.objects.with_figures().values_list("code", "sold"))
    assert by_code == {"FERIA-AAAAAA": Decimal("249.90"), "FERIA-BBBBBB": None}
    for model in (PromoBatch, PromoCode):
        page = client.get(admin_url(model, "changelist")).content.decode()
        assert "249,90\N{NO-BREAK SPACE}€" in page
    assert (
        "codigo=FERIA-BBBBBB"
        in client.get(admin_url(PromoCode, "change", unused.pk)).content.decode()
    )

    press(client, admin_url(PromoBatch, "changelist"), "switch_off", batch)
    assert not PromoCode.objects.filter(active=True).exists()

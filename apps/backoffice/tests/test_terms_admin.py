"""Changing the terms of sale in the admin."""

import pytest

from apps.backoffice.accounts.staff_groups import create_groups
from apps.core.models import LegalText, StaffAction
from apps.pricing.models import Terms
from apps.pricing.reads import current_terms
from apps.pricing.sale_terms import SaleTerms
from tests.helpers.admin import admin_url, make_staff
from tests.helpers.factories import set_terms

pytestmark = pytest.mark.django_db


def shown(client):
    """The form's fields as the page shows them."""
    page = client.get(admin_url(Terms, "add"))
    assert page.status_code == 200
    return dict(page.context["adminform"].form.initial)


@pytest.mark.usefixtures("carla")
def test_shop_without_a_row_sells_on_the_terms_of_a_new_shop(client, django_assert_num_queries):
    assert not Terms.objects.exists()
    page = client.get(admin_url(Terms, "changelist")).content.decode()
    assert "Nadie las ha cambiado todavía" in page
    with django_assert_num_queries(1):
        assert current_terms() == SaleTerms() == Terms().values()


@pytest.mark.usefixtures("carla")
def test_change_adds_a_row_with_who_and_when_and_is_logged(client):
    form = shown(client)
    changes = {"quote_days": 21, "volume_2": "16,5", "reminder_hours": ""}
    assert client.post(admin_url(Terms, "add"), {**form, **changes}).status_code == 302

    row = Terms.objects.get()
    lines = [
        "2 asignaturas (€): 15,00 → 16,50",
        "días que vale un presupuesto: 14 → 21",
        "horas de los avisos de compra a medias: 24, 72 → ninguno",
    ]
    assert row.changes.splitlines() == lines
    listed = client.get(admin_url(Terms, "changelist")).content.decode()
    assert all(line in listed for line in lines)
    assert row.changed_by == "carla"
    assert current_terms().volume[0] == (2, 16_50)
    actions = StaffAction.objects.filter(about="pricing.terms")
    assert {(action.actor_name, action.object_id) for action in actions} == {("carla", str(row.pk))}
    assert any(row.changes in action.text for action in actions)
    later = shown(client)
    assert (later["quote_days"], later["based_on"]) == (21, str(row.pk))


@pytest.mark.usefixtures("carla")
def test_page_says_what_a_change_does_to_what_exists(client):
    page = " ".join(client.get(admin_url(Terms, "add")).content.decode().split())
    assert "No cambia nada de lo que ya existe: los pedidos conservan su precio" in page


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({}, "No has cambiado nada"),
        ({"volume_3": "10"}, "El descuento por volumen no puede bajar con más asignaturas."),
        ({"full_payment_percent": "0"}, "mayor o igual"),
        ({"instalment_count": "13"}, "menor o igual"),
        ({"instalment_count": "12", "instalment_minimum_total": "5"}, "al menos 6 €"),
        ({"reminder_hours": "72, 24"}, "de menor a mayor"),
        ({"reminder_hours": "mucho"}, "Escribe horas separadas por comas: 24, 72."),
        ({"reminder_hours": "0"}, "Solo valen horas de 1 a 720."),
    ],
)
def test_terms_that_cannot_be_sold_on_are_refused(client, changes, sentence):
    page = client.post(admin_url(Terms, "add"), {**shown(client), **changes})
    assert page.status_code == 200
    assert sentence in page.content.decode()
    assert not Terms.objects.exists()


@pytest.mark.usefixtures("carla")
def test_second_of_two_people_is_told_and_may_save_again(client):
    form = {**shown(client), "quote_days": 21}
    other = set_terms(discount_code_days=40)

    page = client.post(admin_url(Terms, "add"), form)

    assert "Otra persona ha cambiado las condiciones entretanto." in page.content.decode()
    assert Terms.objects.get() == other
    again = {**form, "based_on": page.context["adminform"].form["based_on"].value()}
    assert client.post(admin_url(Terms, "add"), again).status_code == 302
    assert current_terms() == SaleTerms(quote_days=21)


def test_terms_are_changed_by_direccion_alone(client):
    create_groups()
    for name, status in (("Dirección", 200), ("Contenido", 403), ("Contabilidad", 403)):
        make_staff(name, group=name, client=client)
        assert client.get(admin_url(Terms, "add")).status_code == status
        assert client.get(admin_url(Terms, "changelist")).status_code == 200


@pytest.mark.usefixtures("carla")
def test_row_is_shown_and_never_changed(client):
    row = set_terms(quote_days=21)
    url = admin_url(Terms, "change", row.pk)
    assert client.get(url).status_code == 200
    assert client.post(url, {"quote_days": "30"}).status_code == 403
    assert current_terms().quote_days == 21


@pytest.mark.usefixtures("carla")
def test_legal_text_that_staff_publish_keeps_the_numbers_of_that_day(client):
    set_terms(instalment_count=5)
    prefilled = client.get(f"{admin_url(LegalText, 'add')}?kind=terminos")
    form = dict(prefilled.context["adminform"].form.initial)
    form |= {"body": "<p>Hasta {{ instalments }} plazos.</p>"}
    assert client.post(admin_url(LegalText, "add"), form).status_code == 302
    set_terms(instalment_count=6)

    assert LegalText.objects.current("terminos").html() == "<p>Hasta 5 plazos.</p>"

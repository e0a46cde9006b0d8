"""Lists and forms of the admin: names of columns and fields, and Spanish of our own."""

import re

import pytest
from django.urls import reverse

from apps.catalogue.models import University
from apps.pages.models import Faq
from tests.helpers.admin import admin_url
from tests.helpers.factories import make_subject
from tests.helpers.one_of_everything import make_one_of_everything

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("carla")]


def page_of(client, address, **data):
    return client.get(address, data, follow=True).content.decode()


def test_cells_of_a_list_carry_the_name_of_their_column(client):
    make_subject("Álgebra")
    page = page_of(client, admin_url(University, "changelist"))
    (row,) = re.findall(r"<tr>(<td [^>]*action-checkbox.*?)</tr>", page, re.DOTALL)
    cells = re.findall(r"<t[dh] (?:data-empty )?data-label=\"([^\"]*)\"", row)
    assert cells[0] == ""  # the box that chooses the row
    assert cells[1] == "Nombre"
    assert all(cells[1:])


def test_list_on_a_phone_is_sorted_by_a_column_and_then_the_other_way_round(client):
    make_subject("Álgebra")
    page = page_of(client, admin_url(University, "changelist"))
    options = re.compile(r'<details class="sort-by">.*?</details>', re.DOTALL)
    link = re.compile(r'<a href="([^"]*)"( aria-current="true")?>Nombre')
    address, _ = link.search(options.search(page)[0]).groups()
    page = page_of(client, admin_url(University, "changelist") + address.replace("&amp;", "&"))
    shown = options.search(page)[0]
    assert "Ordenar por: nombre" in shown
    back, is_current = link.search(shown).groups()
    assert is_current
    assert back != address


def test_cell_without_a_value_is_marked(client):
    Faq.objects.all().delete()
    subject = make_subject("Álgebra")
    page = page_of(client, reverse("admin:catalogue_subject_changelist"))
    assert re.search(r"<td data-empty data-label=\"[^\"]+\" class=\"field-[^\"]+\">–</td>", page)
    assert f">{subject.name}</a>" in page
    # A price stays on one line.
    assert re.search(r"<td data-amount data-whole data-label=\"Precio\"[^>]*>[\d.,]+\s€</td>", page)


def test_editable_cells_name_their_column_and_row(client):
    faq = Faq.objects.create(question="¿Cómo pago?", answer="Con tarjeta.")
    page = page_of(client, admin_url(Faq, "changelist"))
    assert f'aria-label="Orden de {faq}"' in page


def test_fields_of_rows_have_labels(client):
    subject = make_subject("Álgebra")
    page = page_of(client, admin_url(type(subject), "change", subject.pk))
    assert '<label class="cell-label" for="id_lessons-0-title">Título</label>' in page


def test_read_only_rows_offer_no_row_to_add(client):
    """Django's script offers one wherever it finds this attribute, and a phone showed it."""
    subject = make_subject("Álgebra")
    page = page_of(client, admin_url(type(subject), "change", subject.pk))
    parts = re.findall(r'<div class="js-inline-admin-formset[^>]* id="([^"]+)"([^>]*)>', page)
    offers = {name: "data-inline-type" in rest for name, rest in parts}
    assert offers == {"lessons-group": True, "price_changes-group": False}


def test_message_after_saving_names_the_row_without_an_article(client):
    added = client.post(
        admin_url(Faq, "add"),
        {"question": "¿Hay IVA?", "answer": "Sí.", "position": "1"},
        follow=True,
    )
    faq = Faq.objects.get(question="¿Hay IVA?")
    assert f"Creado: pregunta frecuente «{faq}»." in added.content.decode()

    form = {"question": "¿Hay IVA?", "answer": "No.", "position": "1"}
    changed = client.post(admin_url(Faq, "change", faq.pk), form, follow=True)
    assert f"Cambios guardados: pregunta frecuente «{faq}»." in changed.content.decode()

    deleted = client.post(admin_url(Faq, "delete", faq.pk), {"post": "yes"}, follow=True)
    assert f"Borrado: pregunta frecuente «{faq}»." in deleted.content.decode()
    for answer in (added, changed, deleted):
        assert "El pregunta" not in answer.content.decode()


def test_deleting_several_rows_says_how_many(client):
    rows = [Faq.objects.create(question=f"¿{n}?", answer="Sí.") for n in range(2)]
    chosen = {"action": "delete_selected", "_selected_action": [row.pk for row in rows]}
    asked = client.post(admin_url(Faq, "changelist"), chosen)
    assert "¿Borrar 2 preguntas frecuentes?" in asked.content.decode()
    done = client.post(admin_url(Faq, "changelist"), {**chosen, "post": "yes"}, follow=True)
    assert "Borrado: 2 preguntas frecuentes." in done.content.decode()
    assert not Faq.objects.filter(pk__in=[row.pk for row in rows]).exists()


def test_moment_field_names_its_time_zone_and_both_inputs(client):
    page = page_of(client, reverse("admin:pricing_promocode_add"))
    assert "Hora de Madrid." in page
    assert 'aria-label="Válido desde: fecha"' in page
    assert 'aria-label="Válido desde: hora"' in page


def test_filters_are_named_by_what_they_filter(client):
    page = page_of(client, reverse("admin:catalogue_subject_changelist"))
    assert "<summary>A la venta</summary>" in page
    assert "Por a la venta" not in page


def test_history_password_and_signed_out_pages_speak_our_spanish(client, carla):
    faq = Faq.objects.create(question="¿Cómo pago?", answer="Con tarjeta.")
    history = admin_url(Faq, "history", faq.pk)
    assert "todavía no se ha cambiado nada aquí" in page_of(client, history)
    client.post(admin_url(Faq, "delete", faq.pk), {"post": "yes"})
    change = reverse("admin:password_change")
    pages = {
        "Tu contraseña de ahora": page_of(client, change),
        "Al menos 12 caracteres": page_of(client, change),
        "Tu contraseña ha cambiado": page_of(client, reverse("admin:password_change_done")),
        "Volver a entrar": client.post(reverse("admin:logout")).text,
    }
    for words, page in pages.items():
        assert words in page
        for stiff in ("Su contraseña", "introduzca", "antigua", "Gracias por el tiempo"):
            assert stiff not in page
    assert "Buscar en todo" not in pages["Volver a entrar"]


def test_addresses_amounts_and_ids_of_a_list_are_marked_by_how_they_wrap(client):
    order = make_one_of_everything()
    page = page_of(client, reverse("admin:orders_order_changelist"))
    assert re.search(
        rf"<th data-address data-label=\"Comprador\"[^>]*><a [^>]*>{order.email}<", page
    )
    assert re.search(r"<th scope=\"col\" data-amount[^>]*>\s*<a [^>]*>Total", page)
    page = page_of(client, reverse("admin:orders_payment_changelist"))
    assert re.search(r"<td data-code data-label=\"Referencia\"[^>]*>pi_", page)

"""The academy's own subject, sentences and paragraph of each mail, and what they can't say."""

import ast
from datetime import date
from decimal import Decimal

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core import mail as django_mail
from django.db import transaction
from django.urls import reverse

from apps.core.mail.outbox import queue_mail
from apps.core.mail.own_words import (
    LABELS,
    OwnWordsForm,
    WordsChanged,
    filled,
    own_words,
    store_own_words,
    version_of,
)
from apps.core.mail.registry import is_fixed, registered_mails, render_for_staff, texts_of
from apps.core.mail.samples import STAFF, mail_preview, render_sample
from apps.core.models import Mail, SiteSettings
from apps.core.workers.silence import TEMPLATE
from apps.students.models import Student
from tests.helpers.admin import confirm_password, forget_password, make_staff
from tests.helpers.one_of_everything import make_one_of_everything
from tools.dev.processes import ROOT

pytestmark = pytest.mark.django_db
MAIL = "order_confirmation"
# A mail that each clerk writes, and two that the law words.
WITHOUT_TEXTS = {"lead_answer", "withdrawal_acknowledged", "withdrawal_declined"}
# Security notices: they tell somebody what others did with an account, gift or money.
FIXED = {
    "email_changed", "gift_moved", "order_moved", "refund_owner", "staff_account_changed",
    "staff_invitation", "staff_invited", "staff_password_guessed", "staff_password_link",
    "withdrawal_acknowledged",
    *(name for name in registered_mails() if mail_preview(name).to == STAFF),
}  # fmt: skip
IBAN = "ES7921000813610123456789"
TO_CUSTOMERS = [name for name in registered_mails() if mail_preview(name).to != STAFF]


def address(template=MAIL):
    return reverse("admin:core_mail_sample_words", args=[template])


def sample_of(template=MAIL):
    return render_sample(template, next(iter(mail_preview(template).samples())))


def store(template, **words):
    current = own_words(SiteSettings.current(), template)
    store_own_words(template, words, version=version_of(current))


@pytest.fixture
def carla(client):
    user = make_staff("carla", "view_mail", "change_mail_words", client=client)
    confirm_password(client)
    return user


def save(client, **typed):
    return client.post(address(), {"subject": "", "paragraph": "", **typed})


def test_own_words_are_in_the_mail_and_the_original_comes_back(client, carla):
    before = sample_of()
    save(
        client,
        subject="¡Ya está, {nombre}!",
        intro="Tu <b>{pedido}</b>\r\nya es tuyo.",
        paragraph="Feliz <verano>,\n{academia}",
    )
    mail = sample_of()
    assert mail.subject.startswith("¡Ya está, ")
    assert "Tu <b>pedido n.º 1042</b>\nya es tuyo." in mail.text
    assert "Tu &lt;b&gt;pedido n.º\xa01042&lt;/b&gt;<br>ya es tuyo." in mail.html
    assert "Hemos recibido tu pago. Este es" not in mail.text + mail.html
    assert "Feliz <verano>,\nAcademia" in mail.text
    assert "Feliz &lt;verano&gt;,<br>Academia" in mail.html
    assert LogEntry.objects.latest("pk").change_message.startswith("Correo «")
    assert client.get(reverse("admin:core_mail_samples")).text.count("Texto personalizado") == 1

    client.post(address(), {"subject": "x", "paragraph": "x", "original": "x"})
    assert sample_of() == before
    assert SiteSettings.objects.get().mail_words == {}
    assert "Ha vuelto el texto original" in client.get(address()).text


def test_sent_mail_is_shown_with_the_words_that_it_was_sent_with(work):
    order = make_one_of_everything()
    with transaction.atomic():
        ids = {"order_id": order.pk}
        mail = queue_mail(key="sent", template=MAIL, to=order.email, context=ids)
    store(MAIL, intro="Lo de ayer.")
    work()
    store(MAIL, intro="Lo de hoy.")

    mail.refresh_from_db()
    assert (mail.status, mail.sent_words) == ("sent", {"intro": "Lo de ayer."})
    assert "Lo de ayer." in render_for_staff(mail).text
    # As one that was sent before its words were kept.
    Mail.objects.filter(pk=mail.pk).update(sent_words=None)
    mail.refresh_from_db()
    assert "Lo de hoy." in render_for_staff(mail).text


def test_form_has_the_text_of_today_and_stores_what_differs(client, carla):
    texts = texts_of("cart_reminder")
    page = client.get(address("cart_reminder")).context["form"]
    typed = {name: page[name].value() for name in page.fields}
    assert typed == {"subject": "", **texts, "paragraph": ""}
    client.post(address("cart_reminder"), {**typed, "greeting": "Buenas:", "intro": ""})
    assert SiteSettings.objects.get().mail_words == {"cart_reminder": {"greeting": "Buenas:"}}
    shown = client.get(address("cart_reminder"))
    assert shown.context["form"]["greeting"].value() == "Buenas:"
    assert "Original: «Hola:»" in shown.text


def test_preview_shows_the_draft_and_stores_nothing(client, carla):
    before = sample_of()
    page = save(client, subject="Un borrador", intro="Así lo diríamos.", preview="x")
    assert SiteSettings.objects.get().mail_words == {}
    assert page.context["form"]["intro"].value() == "Así lo diríamos."
    draft = page.context["draft"]
    assert draft["mail"].subject == "Un borrador"
    assert "Así lo diríamos." in draft["mail"].text
    frame = client.get(draft["frame_url"])
    assert "Así lo diríamos." in frame.text
    assert "frame-ancestors 'self'" in frame["Content-Security-Policy"]
    assert sample_of() == before

    save(client, intro="Otro borrador.", preview="x")
    assert client.get(draft["frame_url"]).status_code == 404
    refused = save(client, intro="Llama al 600 11 22 33", preview="x")
    assert refused.context["draft"] == {}
    assert "No escribas números" in refused.text


def test_later_editor_is_told_what_the_earlier_one_stored(client, carla):
    version = client.get(address()).context["version"]
    store(MAIL, intro="Lo de Rosa.")
    page = save(client, intro="Lo de Carla.", preview="x", version=version)
    assert page.context["version"] == version
    page = save(client, intro="Lo de Carla.", version=version)
    assert "otra persona ha guardado otros textos" in page.text
    assert "Ahora: «Lo de Rosa.»" in page.text
    assert page.context["form"]["intro"].value() == "Lo de Carla."
    assert own_words(SiteSettings.objects.get(), MAIL) == {"intro": "Lo de Rosa."}

    save(client, intro="Lo de Carla.", version=page.context["version"])
    assert own_words(SiteSettings.objects.get(), MAIL) == {"intro": "Lo de Carla."}


def test_original_does_not_silently_undo_what_another_editor_stored(client, carla):
    version = client.get(address()).context["version"]
    store(MAIL, intro="Lo de Rosa.")
    save(client, original="x", version=version)
    assert own_words(SiteSettings.objects.get(), MAIL) == {"intro": "Lo de Rosa."}
    with pytest.raises(WordsChanged):
        store_own_words(MAIL, {}, version=version)


def test_words_of_one_mail_leave_the_others_alone(client, carla):
    store("cart_reminder", subject="Tu carrito")
    save(client, paragraph="Gracias.")
    site = SiteSettings.objects.get()
    assert own_words(site, "cart_reminder") == {"subject": "Tu carrito"}
    assert own_words(site, MAIL) == {"paragraph": "Gracias."}
    assert own_words(site, "quote") == {}


def spread(text):
    return "{nombre}".join(text)


@pytest.mark.parametrize("template", sorted({*registered_mails()} - FIXED))
def test_every_other_mail_can_have_own_words(template):
    store(template, subject="{academia}: aviso", paragraph="Hasta {pronto}.")
    mail = sample_of(template)
    assert mail.subject == "Academia Faro: aviso"
    assert "\nHasta.\n" in mail.text
    assert ">Hasta.</p>" in mail.html


@pytest.mark.parametrize("template", sorted(FIXED))
@time_machine.travel("2026-11-28T12:00:00+01:00", tick=False)
def test_security_notice_has_no_own_words(client, carla, template):
    before = sample_of(template)
    # As a shop may have stored them before.
    store(template, subject="Novedades de otoño", heading="x", greeting="x", paragraph="x")
    stored = SiteSettings.objects.get().mail_words

    assert sample_of(template) == before
    shown = client.get(reverse("admin:core_mail_sample", args=[template])).text
    assert "su texto es fijo" in shown
    assert address(template) not in shown
    assert "Texto personalizado" not in client.get(reverse("admin:core_mail_samples")).text
    for answer in (
        client.get(address(template), follow=True),
        client.post(address(template), {"subject": "Otro"}, follow=True),
        client.post(address(template), {"original": "x"}, follow=True),
    ):
        assert "El texto de este correo es fijo" in answer.text
    assert SiteSettings.objects.get().mail_words == stored


def test_security_notice_is_sent_without_own_words(work):
    student = Student.objects.create(email="ana@example.com")
    store("email_changed", subject="Novedades de otoño", paragraph="Gracias.")
    with transaction.atomic():
        ids = {"student_id": student.pk, "is_old": True}
        mail = queue_mail(key="x", template="email_changed", to=student.email, context=ids)
    work()

    mail.refresh_from_db()
    assert (mail.status, mail.sent_words) == ("sent", {})
    assert "Gracias." not in django_mail.outbox[0].body
    assert "Novedades" not in django_mail.outbox[0].subject


@pytest.mark.parametrize("template", TO_CUSTOMERS)
def test_every_sentence_of_a_mail_to_a_customer_can_be_replaced(template):
    texts = texts_of(template)
    assert bool(texts) is (template not in WITHOUT_TEXTS)
    assert texts.keys() <= LABELS.keys()
    words = {name: f"Palabras de {name}" for name in texts}
    mails = [render_sample(template, name, words) for name in mail_preview(template).samples()]
    for name, text in words.items():
        assert any(text in mail.html for mail in mails), name
        # Some mails have their heading in the HTML alone: plain text has the subject above it.
        assert name == "heading" or any(text in mail.text for mail in mails), name


@pytest.mark.parametrize("template", TO_CUSTOMERS)
def test_every_original_keeps_to_the_rules_of_own_words(template):
    variables = next(iter(mail_preview(template).samples().values()))
    texts = texts_of(template)
    form = OwnWordsForm(texts, texts=texts, stored={}, variables=variables)
    assert form.is_valid(), form.errors
    assert form.words() == {}


def test_placeholders_are_written_as_the_mails_write_them():
    values = {"first_name": "Ana", "total": Decimal("1234.5"), "paid_at": date(2026, 11, 3)}
    text = "Hola, {nombre}: {total} el {fecha} con {academia}"
    shown = filled(text, values).replace("\N{NO-BREAK SPACE}", " ")
    assert shown == "Hola, Ana: 1234,50 € el 3 de noviembre de 2026 con"
    assert filled("¡Gracias, {nombre}!", {"first_name": ""}) == "¡Gracias!"
    assert filled("{nombre}", {"first_name": "{total}", "total": 3}) == "{total}"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Hola {apellido}", "no tiene {apellido}"),
        ("Hola {nombre", "Falta una llave"),
        ("Hola nombre}", "Falta una llave"),
        ("{{ plan_url }}", "no tiene"),
        ("Mira https://otro.example/x", "Solo se enlazan páginas de este sitio"),
        ("Mira WWW.otro.example", "Solo se enlazan páginas de este sitio"),
        ("Mira http://academia.example@otro.example", "Solo se enlazan"),
        ("Paga en faro-pagos.example/pago", "Solo se enlazan"),
        ("Escribe a otro@correo.example", "Solo se enlazan"),
        ("Usa amigo-ana22222 al pagar", "código de amigo"),
        ("Termina en http://testserver/compra?codigo=AMIGO%2DANA22222", "código de amigo"),
        ("Ingresa en ES76 0075 1234 5678 9012 3456", "No escribas números"),
        ("Ingresa en ES7600751234567890123456", "No escribas números"),
        ("Ingresa en ES76\u00a00075\u00a01234\u00a05678", "No escribas números"),
        ("Llama al 600 11 22-33", "No escribas números"),
        ("Llama al 612/345/678", "No escribas números"),
        ("es12" + "a" * 900, "No escribas números"),
        ("Llama al 612\n345\n678", "No escribas números"),
        ("Llama al 612, 345, 678", "No escribas números"),
        ("Llama al 612:345:678", "No escribas números"),
        ("Llama al 612º345º678", "No escribas números"),
        ("Llama al 612\u200b345\u200b678", "No escribas números"),
        ("Llama al 6\u03071\u03072\u0307345678", "No escribas números"),
        ("Llama al 6:12:34:56:78", "No escribas números"),
        ("Ingresa en ES76,0075,1234,5678", "No escribas números"),
        ("Renueva por Bizum: 612 345 {total}", "No escribas números"),
        ("Paga en faro-pagos\u200b.example", "Solo se enlazan"),
        ("Tarjeta 4242 4242 4242 4242", "No escribas números"),
        ("x" * 1001, "1000 caracteres"),
        # A placeholder that is empty, or short, no longer parts what surrounds it.
        (f"Paga a {spread(IBAN)}", "No escribas números"),
        (f"Bizum {spread('612345678')}", "No escribas números"),
        ("Bizum 612 {nombre}345, {nombre}678", "No escribas números"),
        ("Bizum 6123456{total}", "No escribas números"),
        ("Bizum 612345{nombre}{total}{nombre}6", "No escribas números"),
        ("https:{nombre}//pago-academia.{nombre}com/x", "Solo se enlazan"),
        ("Paga en pago, {nombre}.com", "Solo se enlazan"),
        ("Paga en {nombre}.com", "Solo se enlazan"),
        ("Paga en pago.{nombre}", "cuando un hueco está vacío o es corto"),
        ("Escribe a pago{nombre}@{nombre}correo", "Solo se enlazan"),
    ],
)
def test_other_placeholders_and_links_to_other_sites_are_refused(client, carla, text, reason):
    page = save(client, paragraph=text)
    assert page.status_code == 200
    assert reason in page.text.replace("&#x27;", "'")
    assert SiteSettings.objects.filter(mail_words={}).exists()


@pytest.mark.parametrize(
    "text",
    [
        "De lunes a viernes, 9:00-14:00, 16:00-19:30.",
        "El 24/12/2026, 9:00-14:00. El 31/12, 9:00-14:00.",
        "Cuestan 149,90 €, 199,00 € y 249,00 €.",
        "Curso 2026-2027, 3.ª edición.",
        "Hola, {nombre}. Gracias por tu {pedido} del {fecha}: {total}, {academia}.",
        "El {fecha} pagaste {total}. Con {academia}, 12 meses desde 9,90 €.",
    ],
)
def test_hours_dates_and_prices_are_no_number_of_an_account(client, carla, text):
    assert save(client, paragraph=text).status_code == 302


def test_address_of_this_site_does_not_go_on_with_a_placeholder(client, carla, settings):
    for text in (f"{settings.SITE_URL}{{nombre}}.{{nombre}}com", f"{settings.SITE_URL}{{nombre}}"):
        assert "Solo se enlazan" in save(client, paragraph=text).text


@pytest.mark.parametrize(
    "path", ['/"https://otro.example/x', "/|https://otro.example/x", "/,escribe_a:x@correo.example"]
)
def test_mail_programs_end_an_address_of_this_site_where_the_check_does(
    client, carla, settings, path
):
    assert "Solo se enlazan" in save(client, paragraph=f"Mira {settings.SITE_URL}{path}").text


@pytest.mark.parametrize("path", ['/"ES76-0075-1234-5678-9012', "/?Bizum=612-345-678"])
def test_address_of_this_site_hides_no_number(client, carla, settings, path):
    page = save(client, paragraph=f"Paga a {settings.SITE_URL}{path}")
    assert "No escribas números" in page.text


@pytest.mark.parametrize(
    "path", ["/precios.", "/compra?asignatura=12&codigo=BIENVENIDA10, y elige.", "/#planes", ""]
)
def test_link_to_a_page_of_this_site_is_accepted(client, carla, settings, path):
    assert save(client, paragraph=f"Mira {settings.SITE_URL}{path}").status_code == 302


def test_template_syntax_is_never_run(client, carla):
    store(MAIL, subject="a{% load x %}b", paragraph="{{ legal_name }}.")
    assert sample_of().subject == "ab"
    assert "\n{}.\n" in sample_of().text


def test_name_that_may_not_be_said_leaves_no_gap():
    store("sign_in_link", subject="Hola {nombre}, entra")
    assert sample_of("sign_in_link").subject == "Hola, entra"


def test_words_need_their_permission_and_a_fresh_password(client, carla):
    User.objects.get(pk=carla.pk).user_permissions.filter(codename="change_mail_words").delete()
    reader = make_staff("rosa", "view_mail", client=client)
    assert client.get(address()).status_code == 403
    page = client.get(reverse("admin:core_mail_sample", args=[MAIL])).text
    assert address() not in page
    assert reader.has_perm("core.view_mail")


def test_words_ask_for_the_password_before_writing(client):
    make_staff("carla", "view_mail", "change_mail_words", client=client)
    forget_password(client)
    answer = client.get(address())
    assert answer["Location"].startswith(reverse("admin:confirm_password"))


def test_a_late_password_keeps_what_was_typed(client, carla):
    forget_password(client)
    late = save(client, intro="Lo mío.")
    assert late.status_code == 307
    assert not SiteSettings.objects.exclude(mail_words={}).exists()
    carried = client.post(late["Location"], {"intro": "Lo mío.", "preview": "Ver"}).text
    for part in ('name="intro" value="Lo mío."', 'name="preview" value="Ver"'):
        assert part in carried
    confirm_password(client)
    assert save(client, intro="Lo mío.").status_code == 302


def mails_to_staff():
    """The templates that the code queues to STAFF_EMAIL."""
    for path in (ROOT / "apps").rglob("*.py"):
        if "tests" in path.parts:
            continue
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call):
                named = {one.arg: ast.unparse(one.value) for one in call.keywords}
                if named.get("to") == "settings.STAFF_EMAIL" and "template" in named:
                    yield named["template"].strip("'").replace("TEMPLATE", TEMPLATE)


def test_mails_to_staff_have_no_words_of_their_own():
    """Whoever has done what they tell could write that there is nothing to do."""
    found = {*mails_to_staff()}

    assert {"staff_attention", "job_failed", "card_testing", TEMPLATE} <= found
    assert [name for name in sorted(found) if not is_fixed(name)] == []
    assert is_fixed("withdrawal_acknowledged")


@pytest.mark.parametrize(
    ("template", "typed"),
    [
        ("order_to_pay", {"greeting": "Mejor un Bizum al 612 345", "intro": "678, y tu {pedido}:"}),
        ("order_confirmation", {
            "heading": "Nueva cuenta: ES66 2100", "intro": "0418 4012", "details": "3456 7891",
        }),
    ],
)  # fmt: skip
def test_number_in_pieces_over_two_texts_of_a_mail_is_refused(client, carla, template, typed):
    answer = client.post(address(template), typed)
    assert "uno debajo de otro" in answer.text
    assert template not in SiteSettings.current().mail_words


def test_date_at_the_end_of_a_text_is_no_number_with_the_next_one(client, carla):
    words = {"intro": "La oferta acaba el 24/12/2026.", "details": "2 semanas de acceso."}
    assert client.post(address("order_confirmation"), words).status_code == 302

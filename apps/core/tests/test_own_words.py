"""The academy's own subject and paragraph of each mail, and what they can't say."""

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.urls import reverse

from apps.core.mail.own_words import OwnWords, own_words, store_own_words
from apps.core.mail.registry import registered_mails
from apps.core.mail.samples import mail_preview, render_sample
from apps.core.models import SiteSettings
from tests.helpers.admin import confirm_password, forget_password, make_staff

pytestmark = pytest.mark.django_db
MAIL = "order_confirmation"


def address(template=MAIL):
    return reverse("admin:core_mail_sample_words", args=[template])


def sample_of(template=MAIL):
    return render_sample(template, next(iter(mail_preview(template).samples())))


@pytest.fixture
def carla(client):
    user = make_staff("carla", "view_mail", "change_mail_words", client=client)
    confirm_password(client)
    return user


def save(client, **typed):
    return client.post(address(), {"subject": "", "paragraph": "", **typed})


def test_own_words_are_in_the_mail_and_the_original_comes_back(client, carla):
    before = sample_of()
    save(client, subject="¡Ya está, {nombre}!", paragraph="Feliz <verano>,\n{academia}")
    mail = sample_of()
    assert mail.subject.startswith("¡Ya está, ")
    assert "Feliz <verano>,\nAcademia" in mail.text
    assert "Feliz &lt;verano&gt;,<br>Academia" in mail.html
    assert LogEntry.objects.latest("pk").change_message.startswith("Correo «")

    client.post(address(), {"subject": "x", "paragraph": "x", "original": "x"})
    assert sample_of() == before
    assert SiteSettings.objects.get().mail_words == {}


def test_words_of_one_mail_leave_the_others_alone(client, carla):
    store_own_words("cart_reminder", OwnWords(subject="Tu carrito"))
    save(client, paragraph="Gracias.")
    site = SiteSettings.objects.get()
    assert own_words(site, "cart_reminder") == OwnWords(subject="Tu carrito")
    assert own_words(site, MAIL) == OwnWords(paragraph="Gracias.")
    assert own_words(site, "quote") == OwnWords()


@pytest.mark.parametrize("template", registered_mails())
def test_every_mail_can_have_own_words(template):
    words = OwnWords(subject="{academia}: aviso", paragraph="Hasta {pronto}.")
    store_own_words(template, words)
    mail = sample_of(template)
    assert mail.subject == "Academia Faro: aviso"
    assert "\nHasta.\n" in mail.text
    assert ">Hasta.</p>" in mail.html


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
        ("Ingresa en ES76 0075 1234 5678 9012 3456", "No se escriben cuentas"),
        ("Ingresa en ES7600751234567890123456", "No se escriben cuentas"),
        ("Llama al 600 11 22-33", "No se escriben cuentas"),
        ("Tarjeta 4242 4242 4242 4242", "No se escriben cuentas"),
        ("x" * 1001, "1000 caracteres"),
    ],
)
def test_other_placeholders_and_links_to_other_sites_are_refused(client, carla, text, reason):
    page = save(client, paragraph=text)
    assert page.status_code == 200
    assert reason in page.text.replace("&#x27;", "'")
    assert SiteSettings.objects.filter(mail_words={}).exists()


def test_link_to_a_page_of_this_site_is_accepted(client, carla, settings):
    assert save(client, paragraph=f"Mira {settings.SITE_URL}/precios.").status_code == 302


def test_template_syntax_is_never_run(client, carla):
    store_own_words(MAIL, OwnWords(subject="a{% load x %}b", paragraph="{{ legal_name }}."))
    assert sample_of().subject == "ab"
    assert "\n{}.\n" in sample_of().text


def test_name_that_may_not_be_said_leaves_no_gap():
    store_own_words("sign_in_link", OwnWords(subject="Hola {nombre}, entra"))
    assert sample_of("sign_in_link").subject == "Hola, entra"


def test_words_need_their_permission_and_a_fresh_password(client, carla):
    User.objects.get(pk=carla.pk).user_permissions.filter(codename="change_mail_words").delete()
    reader = make_staff("rosa", "view_mail", client=client)
    assert client.get(address()).status_code == 403
    page = client.get(reverse("admin:core_mail_sample", args=[MAIL])).text
    assert address() not in page
    assert reader.has_perm("core.view_mail")


def test_words_ask_for_the_password(client):
    make_staff("carla", "view_mail", "change_mail_words", client=client)
    forget_password(client)
    answer = save(client, subject="x")
    assert answer["Location"].startswith(reverse("admin:confirm_password"))

import re

import pytest

from apps.classroom.access_links import account_for
from apps.classroom.models import Account, Provisioning
from apps.classroom.provisioning import grant_access, provision
from apps.core.mail.registry import render_mail
from apps.students.services import find_or_create_student
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db


@pytest.fixture
def ids():
    """The context of Ana's access mail: a whole subject and a lesson."""
    ana = find_or_create_student(email="ana@example.com", phone="+34600111111", first_name="Ana")
    micro, stats = make_subject("Microeconomía"), make_subject("Estadística & Datos")
    items = [(micro.pk, None), (stats.pk, stats.lessons.get(title="PEC 2").pk)]
    grant_access(student=ana, items=items, order_id=7)
    provision.func(order_id=7)
    return {"provisioning_id": Provisioning.objects.get().pk}


def test_the_first_access_mail_has_a_password_link_but_no_password(ids):
    mail = render_mail("classroom_access", ids, reveal=True)
    assert mail.subject == "Tu acceso al aula de Academia Faro"
    assert "- Microeconomía\n- Estadística & Datos: PEC 2\n" in mail.text
    assert "Estadística &amp; Datos: PEC 2" in mail.html
    assert "Tu usuario es ana@example.com." in mail.text
    assert "caduca a los 7 días" in mail.text
    (token,) = re.findall(r"/aula/acceso\?enlace=(\S+)", mail.text)
    assert account_for(token) == Account.objects.get()
    assert "/aula/enlace" in mail.text


def test_the_access_mail_has_no_password_link_if_a_password_is_set(ids):
    Account.objects.update(password="set")
    mail = render_mail("classroom_access", ids, reveal=True)
    assert "/aula/acceso?" not in mail.text + mail.html
    entry = "Entra con tu usuario, ana@example.com, y tu contraseña de siempre:"
    assert entry in mail.text


def test_the_link_is_hidden_from_staff(ids):
    mail = render_mail("classroom_access", ids, reveal=False)
    assert "/aula/acceso?" not in mail.text + mail.html
    assert "[enlace personal, solo en el correo]" in mail.text


def test_the_new_link_mail_says_what_to_do_if_one_did_not_request_it(ids):
    mail = render_mail("classroom_link", {"account_id": Account.objects.get().pk}, reveal=True)
    assert mail.subject == "Tu enlace para el aula de Academia Faro"
    assert "Si no lo has pedido tú, no hagas nada" in mail.text
    (token,) = re.findall(r"/aula/acceso\?enlace=(\S+)", mail.text)
    assert account_for(token) == Account.objects.get()

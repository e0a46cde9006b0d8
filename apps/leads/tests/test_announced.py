""" "Avísame": who waits for an announced university, confirmed by mail and told once."""

import re
from datetime import timedelta

import pytest
import time_machine
from django.test import Client
from django.utils import timezone

from apps.catalogue.models import University
from apps.core.mail.registry import NoLongerDue, render_mail
from apps.core.models import Mail
from apps.core.privacy import erase_all, export_all, purge_all
from apps.leads.announced import waiting as list_of_waiting
from apps.leads.announced.models import UniversityNotice
from apps.leads.announced.waiting import UNCONFIRMED_KEPT, confirm, link, queue_opening_mails
from apps.leads.jobs import tell_of_universities
from tests.helpers.factories import make_degree, make_subject, make_university
from tests.helpers.parallel import in_parallel

pytestmark = pytest.mark.django_db


@pytest.fixture
def duero():
    return make_university(
        "Universidad del Duero", acronym="UDD", status=University.Status.COMING_SOON
    )


def ask(university, email="ana@example.com"):
    return Client().post(f"/avisame?universidad={university.pk}", {"email": email})


def path(row, page):
    return "/" + link(row, page).split("/", 3)[3]


def waiting(university, email="ana@example.com"):
    ask(university, email)
    row = UniversityNotice.objects.get(email=email)
    confirm(row)
    return row


def open_with_a_subject(university):
    university.status = University.Status.OPEN
    university.save()
    make_subject("Estadística I", degree=make_degree(university))


def test_only_the_button_behind_the_mailed_link_confirms(duero):
    answer = ask(duero, " Ana@Example.com")
    assert "Mira tu email" in answer.content.decode()
    row = UniversityNotice.objects.get()
    mail = Mail.objects.get()
    assert (mail.template, mail.to, row.confirmed_at) == (
        "university_confirm", "ana@example.com", None,
    )  # fmt: skip
    page = path(row, "avisame-confirmar")
    assert page in render_mail(mail.template, mail.context, reveal=True).text
    for _ in range(2):
        assert "¿Te avisamos?" in Client().get(page).content.decode()
    row.refresh_from_db()
    assert row.confirmed_at is None
    for _ in range(2):
        assert "Te avisaremos" in Client().post(page).content.decode()
    row.refresh_from_db()
    assert row.confirmed_at is not None


def test_page_sets_no_cookie_and_takes_no_form_of_another_site(duero):
    page = f"/avisame?universidad={duero.pk}"
    visitor = Client(enforce_csrf_checks=True)
    assert not visitor.get(page).cookies
    refused = visitor.post(page, {"email": "ana@example.com"}, HTTP_ORIGIN="https://evil.example")
    assert refused.status_code == 403
    assert not UniversityNotice.objects.exists()
    assert "Mira tu email" in visitor.post(page, {"email": "ana@example.com"}).content.decode()


def test_page_is_the_same_for_who_waits_already_who_gets_no_second_mail(duero):
    row = waiting(duero)
    Mail.objects.all().delete()
    first = ask(duero, "eva@example.com").content.decode().replace("eva@", "ana@")
    again = ask(duero).content.decode()
    assert again.partition("<main")[2] == first.partition("<main")[2]
    assert [mail.to for mail in Mail.objects.all()] == ["eva@example.com"]
    assert UniversityNotice.objects.filter(university=duero).count() == 2
    assert row == UniversityNotice.objects.get(email="ana@example.com")


def test_asking_again_renews_the_days_and_after_an_opening_begins_anew(duero):
    ask(duero)
    UniversityNotice.objects.update(asked_at=timezone.now() - timedelta(days=2))
    ask(duero)
    assert UniversityNotice.objects.get().asked_at > timezone.now() - timedelta(hours=1)
    UniversityNotice.objects.update(confirmed_at=timezone.now(), told_at=timezone.now())
    ask(duero)
    row = UniversityNotice.objects.get()
    assert (row.confirmed_at, row.told_at) == (None, None)


def test_address_whose_row_is_deleted_meanwhile_is_not_confirmed(duero):
    ask(duero)
    row = UniversityNotice.objects.get()
    UniversityNotice.objects.all().delete()
    assert confirm(row) is False


def test_confirmed_page_leads_to_the_end_of_the_notice(duero):
    row = waiting(duero)
    page = Client().get(path(row, "avisame-confirmar")).content.decode()
    assert path(row, "avisame-baja") in page


def test_tagged_addresses_are_one_mailbox(duero):
    for email in ("ana+1@example.com", "ana+2@example.com"):
        ask(duero, email)
    assert UniversityNotice.objects.count() == 1


def test_stranger_who_spells_an_address_otherwise_keeps_nobody_from_the_notice(duero):
    ask(duero, "ana+nowhere@example.com")
    ask(duero)
    mails = Mail.objects.order_by("pk")
    assert [mail.to for mail in mails] == ["ana+nowhere@example.com", "ana@example.com"]
    [page] = re.findall(r"/avisame/confirmar\S+", render_mail(
        "university_confirm", mails[1].context, reveal=True).text)  # fmt: skip
    ask(duero, "ana+last@example.com")

    assert "Te avisaremos" in Client().post(page).content.decode()

    open_with_a_subject(duero)
    queue_opening_mails()
    assert Mail.objects.get(template="university_open").to == "ana@example.com"


def test_confirmed_mailboxes_are_told_once_when_the_first_subject_is_on_sale(duero):
    waiting(duero)
    ask(duero, "eva@example.com")
    assert tell_of_universities() == ""
    duero.status = University.Status.OPEN
    duero.save()
    assert tell_of_universities() == ""
    open_with_a_subject(duero)

    assert tell_of_universities() == "Avisos de universidades: 1"
    assert tell_of_universities() == ""

    mail = Mail.objects.get(template="university_open")
    rendered = render_mail(mail.template, mail.context, reveal=True)
    assert mail.to == "ana@example.com"
    assert duero.page_path in rendered.text
    assert "/avisame/baja?aviso=" in rendered.unsubscribe_url


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_clocks_tell_each_mailbox_once(duero):
    for number in range(5):
        waiting(duero, f"ana{number}@example.com")
    open_with_a_subject(duero)
    told = in_parallel(queue_opening_mails, 2)
    assert sum(told) == 5
    assert Mail.objects.filter(template="university_open").count() == 5


def test_unsubscribing_deletes_the_row_and_stops_the_waiting_mail(duero):
    row = waiting(duero)
    page = path(row, "avisame-baja")
    assert "¿Dejamos de avisarte?" in Client().get(page).content.decode()
    open_with_a_subject(duero)
    queue_opening_mails()
    mail = Mail.objects.get(template="university_open")
    # The bare POST of a mail program (RFC 8058).
    answer = Client(enforce_csrf_checks=True).post(page, {"List-Unsubscribe": "One-Click"})
    assert "Ya no te avisaremos" in answer.content.decode()
    assert not UniversityNotice.objects.exists()
    with pytest.raises(NoLongerDue):
        render_mail(mail.template, mail.context, reveal=False)
    assert Client().post(page).status_code == 404
    assert Client().get(path(row, "avisame-confirmar")).status_code == 404


@pytest.mark.parametrize("token", ["", "x", "1:ana@example.com", "ñ.ñ"])
def test_forged_links_do_nothing(duero, token):
    waiting(duero)
    assert Client().post("/avisame/confirmar", query_params={"aviso": token}).status_code == 404
    assert Client().post("/avisame/baja", query_params={"aviso": token}).status_code == 404
    assert UniversityNotice.objects.count() == 1


def test_address_without_a_university_offers_the_announced_ones(client, duero):
    make_university("Universidad Abierta")
    page = client.get("/avisame").content.decode()
    assert f'<a href="/avisame?universidad={duero.pk}">Universidad del Duero' in page
    assert page.count("/avisame?universidad=") == 1
    for path in ("/", "/compra", "/compra?buscar=zzzz"):
        assert 'href="/avisame"' in client.get(path).content.decode(), path


def test_nothing_leads_to_notices_while_no_university_is_announced(client):
    make_university("Universidad Abierta")
    assert client.get("/avisame").status_code == 404
    for path in ("/", "/compra", "/compra?buscar=zzzz"):
        assert "/avisame" not in client.get(path).content.decode(), path


@pytest.mark.parametrize(
    ("state", "shown"), [("sin_confirmar", "eva"), ("espera", "ana"), ("avisado", "bruno")]
)
def test_staff_filter_notices_by_state(admin_client, duero, state, shown):
    waiting(duero, "bruno@example.com")
    UniversityNotice.objects.update(told_at=timezone.now())
    waiting(duero)
    ask(duero, "eva@example.com")
    answer = admin_client.get("/admin/leads/universitynotice/", {"estado": state})
    assert [row.email for row in answer.context["cl"].queryset] == [f"{shown}@example.com"]


@pytest.mark.parametrize("number", ["", "0", "x", "-1", "²", "9" * 30])
def test_only_announced_universities_have_the_page(number, duero):
    assert Client().get("/avisame", {"universidad": number}).status_code == 404
    opened = make_university("Universidad Abierta")
    assert Client().get(f"/avisame?universidad={opened.pk}").status_code == 404


def test_wrong_address_and_full_list_say_so(duero, monkeypatch):
    answer = ask(duero, "nadie")
    assert (answer.status_code, "Escribe un email válido." in answer.content.decode()) == (
        200,
        True,
    )
    monkeypatch.setattr(list_of_waiting, "MOST_UNCONFIRMED", 0)
    answer = ask(duero)
    assert answer.status_code == 503
    assert "Inténtalo mañana" in answer.content.decode()
    assert not UniversityNotice.objects.exists()


def test_many_requests_for_one_mailbox_wait(duero):
    statuses = [ask(duero).status_code for _ in range(4)]
    assert statuses == [200, 200, 200, 429]
    assert Mail.objects.count() == 1


def test_unconfirmed_and_told_ones_are_deleted_and_persons_exported_and_erased(duero):
    waiting(duero)
    ask(duero, "eva@example.com")
    assert export_all("ana@example.com")["avisos_de_universidades"][0]["confirmado"]
    with time_machine.travel(timezone.now() + UNCONFIRMED_KEPT + timedelta(minutes=1)):
        purge_all()
    assert [row.email for row in UniversityNotice.objects.all()] == ["ana@example.com"]
    erase_all("ana@example.com")
    assert not UniversityNotice.objects.exists()


def test_search_and_list_lead_to_the_page(client, duero):
    page = f"/avisame?universidad={duero.pk}"
    assert page in client.get("/buscar?q=duero").content.decode()
    assert page in client.get("/asignaturas").content.decode()

"""Lists count their rows up to a limit, and their plans are judged by the rows that they read."""

from queue import Queue
from threading import Thread

import pytest
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apps.backoffice import at_once, site
from apps.backoffice.accounts import password_page
from apps.backoffice.at_once import Places
from apps.catalogue.models import Subject
from apps.core.errors import TooManyRequests
from apps.core.models import StaffAction
from apps.core.staff import admin_base, admin_log
from apps.core.staff.admin_base import BoundedPaginator
from apps.core.staff.admin_search import MOST_WORDS, SearchedList
from apps.core.web.throttle import Limit
from apps.leads.models import Lead
from apps.pages.models import Faq
from apps.students.models import Student
from tests.helpers.admin import admin_url, confirm_password
from tests.helpers.factories import make_subject
from tests.helpers.query_plans import LARGE, bounded_reads, multiply

pytestmark = pytest.mark.django_db


def test_paginator_offers_no_page_beyond_its_limit(monkeypatch):
    Student.objects.bulk_create(Student(email=f"{n}@example.com") for n in range(7))
    monkeypatch.setattr(admin_base, "MOST_COUNTED", 5)

    pages = BoundedPaginator(Student.objects.order_by("email"), 2)

    assert (pages.count, pages.num_pages) == (5, 3)
    assert BoundedPaginator(Student.objects.filter(email="1@example.com"), 2).count == 1


@pytest.mark.parametrize(
    "address",
    [
        "/admin/orders/order/?q={}",
        "/admin/catalogue/lesson/?q={}",
        "/admin/autocomplete/?app_label=orders&model_name=orderline&field_name=lesson&term={}",
    ],
)
def test_a_pasted_text_is_searched_by_its_first_words(client, address):
    """A thousand words took 5 seconds and ended in an error."""
    client.force_login(User.objects.create_superuser("carla"))
    with CaptureQueriesContext(connection) as queries:
        page = client.get(address.format("+".join(f"p{n}" for n in range(1000))))

    assert page.status_code == 200
    text = "".join(query["sql"] for query in queries)
    assert f"p{MOST_WORDS - 1}" in text
    assert f"p{MOST_WORDS}" not in text


def test_every_list_cuts_what_it_searches_for(rf):
    assert {page.get_changelist(rf.get("/")) for page in admin.site._registry.values()} == {
        SearchedList
    }


@pytest.mark.parametrize(
    ("action", "most", "left"), [("close", 2, 3), ("close", 3, 0), ("delete_selected", 2, 3)]
)
def test_no_action_takes_more_rows_than_its_list_has_counted(
    client, monkeypatch, action, most, left
):
    """ "Select all" chooses every row of the list, which says "2000" of any larger number."""
    client.force_login(User.objects.create_superuser("carla"))
    of_action = "MOST_ASKED_ABOUT" if action == "delete_selected" else "MOST_COUNTED"
    monkeypatch.setattr(admin_base, of_action, most)
    leads = [Lead.objects.create(kind="contact", email=f"{n}@example.com") for n in range(3)]
    sent = {"action": action, "_selected_action": leads[0].pk, "select_across": "1", "post": "yes"}

    page = client.post(admin_url(Lead, "changelist"), sent, follow=True)

    assert Lead.objects.filter(status="new").count() == left
    assert StaffAction.objects.filter(kind__in=("action", "deleted")).exists() == (left == 0)
    assert ("son más de 2." in page.text) == (left == 3)


def test_exports_and_changes_of_the_whole_catalogue_have_no_limit(client, monkeypatch):
    client.force_login(User.objects.create_superuser("carla"))
    confirm_password(client)
    monkeypatch.setattr(admin_base, "MOST_COUNTED", 2)
    leads = [Lead.objects.create(kind="contact", email=f"{n}@example.com") for n in range(3)]
    sent = {"action": "export_csv", "_selected_action": leads[0].pk, "select_across": "1"}

    assert client.post(admin_url(Lead, "changelist"), sent).text.count("@example.com") == 3
    without = {
        model.__name__: page.on_whole_lists
        for model, page in admin.site._registry.items()
        if getattr(page, "on_whole_lists", ())
    }
    assert without == {
        "Subject": ("change_prices", "expire_lessons", "open_lessons"),
        "Lesson": ("change_prices", "expire", "reopen"),
    }


@pytest.mark.postgres
def test_bounded_reads_fails_on_a_scan_and_on_too_many_queries():
    first = Student.objects.create(email="ana@example.com")
    multiply(first, LARGE, email="'alumna' || n || '@example.com'", phone="n::text")

    with bounded_reads(at_most=1):
        assert Student.objects.filter(pk=first.pk).exists()
    with pytest.raises(AssertionError, match="Seq Scan on students_student"), bounded_reads():
        Student.objects.filter(phone="nobody's").first()
    with pytest.raises(AssertionError, match="2 queries"), bounded_reads(at_most=1):
        Student.objects.in_bulk([first.pk]), Student.objects.in_bulk([first.pk])


def test_account_sends_a_bounded_number_of_forms(client, monkeypatch):
    """A program that is given a session of staff would fill every table and the log."""
    monkeypatch.setattr(site, "PRESSES", (Limit("few", times=2, seconds=3600),))
    client.force_login(User.objects.create_superuser("carla"))
    url = admin_url(Faq, "add")
    statuses = [
        client.post(url, {"question": f"¿{n}?", "answer": "Sí.", "position": "0"}).status_code
        for n in range(3)
    ]
    assert statuses == [302, 302, 429]
    assert Faq.objects.filter(question__in=("¿0?", "¿1?", "¿2?")).count() == 2
    assert client.get(url).status_code == 200
    other = Client()
    other.force_login(User.objects.create_superuser("eva"))
    assert other.post(url, {"question": "¿Y?", "answer": "Sí.", "position": "0"}).status_code == 302


def test_account_reads_a_bounded_number_of_logged_pages(client, monkeypatch):
    """A program would fill the log, and take all customers with it."""
    few = Limit("few", times=2, seconds=3600, reason=admin_log.TOO_MANY_READINGS)
    monkeypatch.setattr(admin_log, "READINGS", (few,))
    carla = User.objects.create_superuser("carla")
    client.force_login(carla)
    pages = [
        admin_url(Student, "change", Student.objects.create(email=f"ana{n}@example.com").pk)
        for n in range(3)
    ]
    assert [client.get(page).status_code for page in pages] == [200, 200, 429]
    # A page that was logged a moment ago is no new reading.
    assert client.get(pages[0]).status_code == 200
    assert StaffAction.objects.filter(kind="read").count() == 2
    assert "demasiadas fichas" in client.get(pages[2]).text
    # The owner of a stolen session that was used up goes on with a new password.
    carla.set_password("otra-clave-8-larga")
    carla.save()
    client.force_login(carla)
    assert client.get(pages[2]).status_code == 200


def test_pages_of_one_account_leave_places_to_others(client, monkeypatch):
    """Sixteen downloads at once kept all threads of a web process from buyers."""
    monkeypatch.setattr(at_once, "PAGES", Places(1, wait_seconds=0))
    carla = User.objects.create_superuser("carla")
    eva = Client()
    client.force_login(carla)
    eva.force_login(User.objects.create_superuser("eva"))
    page = admin_url(Subject, "changelist")
    with at_once.PAGES.place(carla.pk):
        refused = client.get(page)
        assert refused.status_code == 429
        assert "varias páginas o descargas en marcha" in refused.text
        assert eva.get(page).status_code == 200
        assert client.get("/precios").status_code == 200
        # Whoever uses a stolen session up does not keep its owner from ending it.
        for own in ("admin:password_change", "admin:confirm_password", "admin_password_reset"):
            assert client.get(reverse(own)).status_code == 200
    assert client.get(page).status_code == 200


def test_steps_with_which_an_owner_ends_a_session_have_places_of_each_session(client, monkeypatch):
    """Without places, one account sent so many carried forms that colleagues were refused."""
    monkeypatch.setattr(at_once, "OWN_STEPS_OF_SESSION", Places(1, wait_seconds=0))
    monkeypatch.setattr(at_once, "OWN_STEPS_OF_ACCOUNT", Places(2, wait_seconds=0))
    carla = User.objects.create_superuser("carla")
    owner, step = Client(), reverse("admin:confirm_password")
    for browser in (client, owner):
        browser.force_login(carla)
    with at_once.OWN_STEPS_OF_SESSION.place(client.session.session_key):
        assert client.post(step, {"carried": "x"}).status_code == 429
        assert owner.get(step).status_code == 200
    account = at_once.OWN_STEPS_OF_ACCOUNT.place
    with account(carla.pk), account(carla.pk):
        assert owner.get(step).status_code == 429
    assert client.get(step).status_code == 200


def test_few_pages_of_an_account_wait_for_a_place():
    places, refused = Places(1, wait_seconds=60), Queue()

    def wait():
        try:
            with places.place(1):
                return
        except TooManyRequests as refusal:
            refused.put(refusal)

    with places.place(1):
        threads = [Thread(target=wait) for _ in range(3)]
        for thread in threads:
            thread.start()
        # One waits, and the others are refused at once.
        assert {refused.get(timeout=60).message for _ in range(2)} == {at_once.REFUSAL}
    for thread in threads:
        thread.join(timeout=60)
    assert refused.empty()


def test_owner_of_a_session_that_was_used_up_changes_the_password_and_goes_on(client, monkeypatch):
    monkeypatch.setattr(site, "PRESSES", (Limit("few", times=1, seconds=3600),))
    monkeypatch.setattr(password_page, "OWN_CHANGES", Limit("own", times=1, seconds=3600))
    carla = User.objects.create_superuser("carla", password="una-clave-9-larga")
    client.force_login(carla)
    url = admin_url(Faq, "add")
    form = {"question": "¿Y?", "answer": "Sí.", "position": "0"}
    for _ in range(3):
        # The steps of a sign-in have limits of their own, and leave the forms alone.
        assert client.post(reverse("admin:confirm_password"), {"password": "x"}).status_code == 200
    assert [client.post(url, form).status_code for _ in range(2)] == [302, 429]
    new = "otra-clave-8-larga"
    passwords = {"old_password": "una-clave-9-larga", "new_password1": new, "new_password2": new}
    assert client.post(reverse("admin:password_change"), passwords).status_code == 302
    assert client.post(url, form).status_code == 302
    # Nor does somebody who knows the password begin anew without end.
    back = {"old_password": new, "new_password1": f"{new}-2", "new_password2": f"{new}-2"}
    assert "Demasiados intentos" in client.post(reverse("admin:password_change"), back).text
    assert client.post(reverse("admin:logout")).status_code in (200, 302)


def test_list_is_ordered_by_few_columns(admin_client):
    """Each column of the address is looked up: 8 KB of them took 0.6 s."""
    address = admin_url(Subject, "changelist")
    assert admin_client.get(address, {"o": "1.-2.3"}).status_code == 200
    assert admin_client.get(address, {"o": "1." * 60}).status_code == 302


def test_bin_is_ordered_by_the_day_on_which_rows_go(admin_client):
    assert admin_client.get("/admin/core/deletedrow/?o=5").status_code == 200


@pytest.mark.parametrize("page", ["change", "changelist"])
def test_form_that_says_it_has_thousands_of_rows_is_refused_unread(admin_client, page, monkeypatch):
    """Django builds a form for each: a request of 100 bytes took 13 seconds."""
    subject = make_subject()
    url = admin_url(Subject, page, *([subject.pk] if page == "change" else []))
    rows = {"lessons-TOTAL_FORMS": "300", "lessons-INITIAL_FORMS": "0"}
    more = {"price_changes-TOTAL_FORMS": "101", "price_changes-INITIAL_FORMS": "0"}
    assert admin_client.post(url, rows | more).status_code == 400
    for written in (" 2000", "+2000", "2000.0", "2_000", "000002000"):
        assert admin_client.post(url, {"lessons-TOTAL_FORMS": written}).status_code == 400
    odd = {"form-TOTAL_FORMS": "9" * 5_000, "price_changes-TOTAL_FORMS": "x"}
    assert admin_client.post(url, {"_save": "x"} | odd).status_code in (200, 302, 400)

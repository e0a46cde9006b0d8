"""Kept pages and answers: which changes render them again, and which requests bypass them."""

import re
from decimal import Decimal
from itertools import product

import pytest
import time_machine
from django.core.cache import cache
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import resolve, reverse

from apps.catalogue.models import Lesson, Subject, University
from apps.catalogue.search import SEARCHES
from apps.core import privacy
from apps.core.models import PublicChange, SiteSettings
from apps.core.page_cache import answers
from apps.core.page_cache.policy import is_kept
from apps.core.page_cache.triggers import shown_tables
from apps.core.privacy import purge_all
from apps.core.web.response_headers import is_public
from apps.pages.exercises import EXERCISES
from apps.pages.models import Faq, TeamMember
from apps.pricing.models import Campaign
from tests.helpers.factories import make_subject
from tests.helpers.kept_routes import kept_routes
from tests.test_start import ROOT

pytestmark = pytest.mark.django_db

EVERY_TIME, NEVER_AGAIN = 0, 3600


@pytest.fixture(autouse=True)
def _kept(settings):
    """Keep pages, and look for changes at every request."""
    settings.PAGE_CACHE = True
    settings.PAGE_CACHE_POLL_SECONDS = EVERY_TIME
    cache.clear()


@pytest.fixture
def subject():
    return make_subject()


def course_pages(subject):
    """The pages of a subject, its degree and its university."""
    degree = subject.degree
    return [row.page_path for row in (subject, degree, degree.university)]


def visitor():
    return Client(headers={"host": "testserver"})


def text(client, path, **headers):
    answer = client.get(path, headers=headers)
    assert answer.status_code == 200
    return answer.content.decode()


def queries(client, path, **headers):
    with CaptureQueriesContext(connection) as captured:
        client.get(path, headers=headers)
    return [query["sql"] for query in captured.captured_queries]


def make_teacher(subject):
    teacher = TeamMember.objects.create(name="Lucía Martín", degree="ADE")
    teacher.subjects.add(subject)
    return teacher


@pytest.fixture
def addresses(subject):
    """An address of every view that is kept. A new view needs one here."""
    found = {
        "api/universities": "/api/universities",
        "api/degrees": f"/api/degrees?university_id={subject.university_id}",
        "api/subjects": f"/api/subjects?degree_id={subject.degree_id}",
        "api/catalogue": "/api/catalogue?search=micro",
        "api/suggestions": "/api/suggestions?q=micro",
        "api/pricing": "/api/pricing",
        "compra": f"/compra?asignatura={subject.pk}&buscar=micro",
        "buscar": "/buscar?q=micro",
        "asignaturas/<slug:university>": subject.degree.university.page_path,
        "asignaturas/<slug:university>/grados/<slug:degree>": subject.degree.page_path,
        "asignaturas/<slug:university>/<slug:subject>": subject.page_path,
        "profesores/<slug:teacher>": make_teacher(subject).page_path,
        "sitemap-asignaturas-<int:number>.xml": "/sitemap-asignaturas-1.xml",
    }
    for name in (
        "", "asignaturas", "servicios", "nosotros", "precios", "contenido-asignatura", "terminos",
        "privacidad", "cookies", "aviso-legal", "accesibilidad", "sitemap.xml",
        "sitemap-paginas.xml",
    ):  # fmt: skip
        found[name] = f"/{name}"
    assert set(found) == set(kept_routes())
    return list(found.values())


def test_kept_answers_need_no_query_and_have_every_header_of_rendered_ones(settings, addresses):
    settings.PAGE_CACHE_POLL_SECONDS = NEVER_AGAIN
    client = visitor()
    for path in addresses:
        client.get(path)
    settings.PAGE_CACHE = False
    rendering = visitor()
    for path, encoding in product(addresses, ("", "gzip", "br, gzip;q=0.5")):
        assert queries(client, path, accept_encoding=encoding) == [], path
        kept = client.get(path, headers={"accept-encoding": encoding})
        rendered = rendering.get(path)

        assert kept.status_code == rendered.status_code == 200
        added = {
            "Last-Modified",
            *(["Content-Encoding"] if encoding and "Vary" in rendered else []),
        }
        assert set(kept.headers) - set(rendered.headers) == added, path
        for name in set(rendered.headers) - {"Content-Length", "X-Request-ID"}:
            assert kept[name].removeprefix("W/") == rendered[name], (path, name)
        assert int(kept["Content-Length"]) == len(kept.content)
        if not encoding:
            assert kept.content == rendered.content, path
        assert not kept.cookies


def test_every_table_that_a_public_page_reads_is_watched(addresses, settings):
    settings.REQUIRE_PRICE_HISTORY = True
    read = set()
    for path in addresses:
        for sql in queries(visitor(), path):
            read.update(re.findall(r'(?:FROM|JOIN) "(\w+)"', sql))

    assert read - {PublicChange._meta.db_table} <= shown_tables()
    assert {"catalogue_subject", "pages_faq", "core_sitesettings", "pricing_campaign"} <= read


def test_change_by_staff_shows_at_once(subject):
    client = visitor()
    assert "192" in text(client, "/compra")
    assert "192.0" in text(client, "/api/catalogue")
    subject.final_price = Decimal("171.00")
    subject.save()

    assert "171" in text(client, "/compra")
    assert "171.0" in text(client, "/api/catalogue")


def test_bulk_changes_and_plain_sql_show_too(subject):
    client = visitor()
    text(client, "/")
    text(client, "/compra")
    Lesson.objects.filter(subject=subject, position=1).update(title="Bloque")
    Faq.objects.bulk_create([Faq(question="¿Hay clases en agosto?", answer="Sí.")])
    with connection.cursor() as cursor:
        cursor.execute("UPDATE core_sitesettings SET support_phone = '+34 955 000 111'")
    assert SiteSettings.objects.exists()

    home = text(client, "/")
    assert "¿Hay clases en agosto?" in home
    assert "+34 955 000 111" in home
    assert "Bloque" in text(client, "/compra")
    Faq.objects.all().delete()
    assert "¿Hay clases en agosto?" not in text(client, "/")


def test_counts_of_students_render_no_page_again(subject):
    changes = PublicChange.objects.count(), PublicChange.objects.last().pk
    Subject.objects.update(enrolled_counted=7)
    University.objects.update(students_counted=7)

    assert changes == (PublicChange.objects.count(), PublicChange.objects.last().pk)


def test_nightly_purge_keeps_the_newest_changes(monkeypatch):
    monkeypatch.setattr(privacy, "KEPT_CHANGES", 3)
    for _ in range(5):
        newest = PublicChange.objects.create()
    purge_all()

    kept = PublicChange.objects.order_by("pk").values_list("pk", flat=True)
    assert list(kept) == [newest.pk - 2, newest.pk - 1, newest.pk]


def test_rolled_back_change_is_not_recorded(subject):
    before = list(PublicChange.objects.values_list("pk"))
    with transaction.atomic():
        Faq.objects.update(question="¿?")
        assert list(PublicChange.objects.values_list("pk")) != before
        transaction.set_rollback(True)

    assert list(PublicChange.objects.values_list("pk")) == before


def test_pages_share_the_reads_of_a_version(settings, subject, monkeypatch):
    settings.PAGE_CACHE_POLL_SECONDS = NEVER_AGAIN
    for number in range(8):
        make_subject(f"Asignatura {number}", degree=subject.degree)
    client = visitor()
    paths = ("/", "/compra", "/precios", "/api/catalogue", "/api/catalogue?search=asig")
    for path in paths:
        text(client, path)
    monkeypatch.setattr(answers.Store, "get", lambda *arguments: None)
    monkeypatch.setattr(answers.Store, "get_shared", lambda *arguments: None)

    assert [len(queries(client, path)) for path in paths] == [2, 2, 0, 2, 3]


def test_campaign_begins_and_ends_at_midnight(settings, subject):
    settings.PAGE_CACHE_POLL_SECONDS = NEVER_AGAIN
    Campaign.objects.all().delete()
    Campaign.objects.create(
        name="Fin de año", percent=20, first_on="2026-12-31", last_on="2026-12-31", banner=True
    )
    client = visitor()
    shown = {}
    for moment in ("30T23:59:59", "31T00:00:00", "31T23:59:59"):
        with time_machine.travel(f"2026-12-{moment}+01:00", tick=False):
            shown[moment] = "Fin de año" in text(client, "/")
    with time_machine.travel("2027-01-01T00:00:00+01:00", tick=False):
        assert "Fin de año" not in text(client, "/")

    assert list(shown.values()) == [False, True, True]


def test_campaign_of_some_hours_begins_and_ends_with_them(settings, subject):
    """The reads behind a page end with the hour, too: other pages are rendered from them."""
    settings.PAGE_CACHE_POLL_SECONDS = NEVER_AGAIN
    Campaign.objects.all().delete()
    Campaign.objects.create(
        name="Tarde", percent=20, first_on="2026-12-30", last_on="2026-12-30",
        first_hour=10, last_hour=12, banner=True,
    )  # fmt: skip
    client = visitor()
    shown = []
    for moment in ("09:59:59", "10:00:00", "11:59:59", "12:00:00"):
        with time_machine.travel(f"2026-12-30T{moment}+01:00", tick=False):
            shown.append("Tarde" in text(client, "/"))

    assert shown == [False, True, True, False]


def test_home_page_changes_its_exercise_at_the_full_hour(settings):
    settings.PAGE_CACHE_POLL_SECONDS = NEVER_AGAIN
    client = visitor()
    shown = {}
    for moment in ("11:59:30", "11:59:59", "12:00:00", "12:59:59", "13:00:00"):
        with time_machine.travel(f"2026-12-01T{moment}+01:00", tick=False):
            html = text(client, "/")
        shown[moment] = [one.name for one in EXERCISES if one.name in html]
    assert list(shown.values()) == [[EXERCISES[hour % 3].name] for hour in (11, 11, 12, 12, 13)]


def test_unknown_parameters_and_their_order_share_one_answer(settings, subject):
    settings.PAGE_CACHE_POLL_SECONDS = NEVER_AGAIN
    client = visitor()
    text(client, "/compra?por_pagina=18&buscar=micro")

    assert queries(client, "/compra?utm_source=x&buscar=micro&por_pagina=6&por_pagina=18") == []
    assert queries(client, "/compra?buscar=macro&por_pagina=18") != []
    assert queries(client, "/compra?por_pagina=18&buscar=" + "x" * 200) != []
    assert queries(client, "/compra?por_pagina=18&buscar=" + "x" * 200) != []


def test_request_that_may_get_another_answer_is_rendered(settings):
    settings.PAGE_CACHE_POLL_SECONDS = NEVER_AGAIN
    client = visitor()
    text(client, "/")

    assert queries(client, "/", origin="https://foreign.test") != []


def test_head_gets_the_headers_of_the_kept_answer(settings, addresses):
    settings.PAGE_CACHE_POLL_SECONDS = NEVER_AGAIN
    client = visitor()
    for path in addresses:
        first = client.head(path)
        with CaptureQueriesContext(connection) as captured:
            got, head = client.get(path), client.head(path)
        assert captured.captured_queries == [], path
        for answer in (first, head):
            assert (answer.status_code, answer.content) == (200, b"")
            for name in set(got.headers) - {"X-Request-ID"}:
                assert answer[name] == got[name], (path, name)
        assert int(head["Content-Length"]) == len(got.content)
        assert client.head(path, headers={"if-none-match": got["ETag"]}).status_code == 304


@pytest.mark.parametrize("accepted", ["text/html", "application/json", "image/png", "x", "*/*;q=0"])
def test_header_accept_changes_nothing_of_a_page(settings, addresses, accepted):
    settings.PAGE_CACHE_POLL_SECONDS = NEVER_AGAIN
    client = visitor()
    for path in addresses:
        client.get(path)
        if not path.startswith("/api/"):
            assert queries(client, path, accept=accepted) == [], path


def test_api_answers_json_from_what_is_kept_and_refuses_the_rest(settings, subject):
    settings.PAGE_CACHE_POLL_SECONDS = NEVER_AGAIN
    client = visitor()
    kept = text(client, "/api/universities")

    for accepted in ("application/json", "text/html, application/json", "application/*"):
        assert queries(client, "/api/universities", accept=accepted) == [], accepted
    indented = text(client, "/api/universities", accept="application/json; indent=4")
    assert len(indented) > len(kept)
    refused = client.get("/api/universities", headers={"accept": "text/html"})
    assert (refused.status_code, refused.json()["code"]) == (406, "not_acceptable")


@pytest.mark.parametrize(
    ("more", "headers"),
    [
        ("", {"origin": "https://foreign.test"}),
        ("", {"cookie": 'a="\\101"'}),
        ("orden=LONG&sort=LONG&version=LONG&format=LONG&search=LONG&universidad=LONG", {}),
    ],
)
def test_what_is_rendered_for_one_visitor_shares_the_reads_of_kept_answers(
    settings, addresses, monkeypatch, more, headers
):
    """No header and no parameter costs the shop more than a page that nobody has asked for."""
    settings.PAGE_CACHE_POLL_SECONDS = NEVER_AGAIN
    client = visitor()
    for path in addresses:
        client.get(path)
    monkeypatch.setattr(answers.Store, "get", lambda *arguments: None)
    monkeypatch.setattr(answers.Store, "get_shared", lambda *arguments: None)
    for path in addresses:
        new = len(queries(client, path))
        odd = f"{path}{'&' if '?' in path else '?'}{more.replace('LONG', 'x' * 101)}"
        assert len(queries(client, odd, **headers)) <= new, path
        with CaptureQueriesContext(connection) as captured:
            client.head(odd, headers=headers)
        assert len(captured.captured_queries) <= new, path


@pytest.mark.parametrize("cookie", ["sessionid=x", "messages=x", "theme=dark"])
def test_cookie_changes_nothing_of_a_public_page(settings, addresses, cookie):
    """Neither a signed-in visitor nor an ended session makes a page be rendered again."""
    settings.PAGE_CACHE_POLL_SECONDS = NEVER_AGAIN
    client = visitor()
    for path in addresses:
        kept = client.get(path)
        assert queries(client, path, cookie=cookie) == [], path
        answer = client.get(path, headers={"cookie": cookie})

        assert (answer.content, answer.cookies) == (kept.content, {}), path


def test_public_answer_that_is_not_kept_leaves_stale_cookies_alone(settings, addresses):
    settings.PAGE_CACHE = False
    stale = {"cookie": f"sessionid={'x' * 32}; csrftoken=x; messages=x"}
    for path in addresses:
        answer = visitor().get(path, headers=stale)
        assert is_public(answer), path
        assert not answer.cookies, path
    # Elsewhere Django deletes or replaces them.
    assert {"sessionid", "csrftoken"} <= visitor().get("/aula", headers=stale).cookies.keys()


def test_messages_of_a_session_are_shown_on_a_page_that_is_not_kept():
    templates = (ROOT / "templates").rglob("*.html")
    showing = {
        str(path.relative_to(ROOT / "templates"))
        for path in templates
        if re.search(r"{%[^%]*\bmessages\b", path.read_text())
    }
    assert showing == {"account/account.html", "admin/base.html"}
    assert not is_kept(resolve(reverse("mi-cuenta")).func)


@pytest.mark.parametrize("path", ["/buscar", "/api/suggestions"])
def test_searches_that_nobody_has_made_are_counted_for_their_visitor(settings, path):
    """Kept ones are not: a classroom looks for the same subjects."""
    settings.TRUSTED_PROXIES = 1
    settings.PAGE_CACHE_POLL_SECONDS = NEVER_AGAIN
    settings.RATE_LIMIT_SCALE = 3 / SEARCHES.times
    client = visitor()

    def status(query, address, **headers):
        asking = {"x-forwarded-for": address, **headers}
        return client.get(f"{path}?{query}", headers=asking).status_code

    assert [status("q=micro", "192.0.2.1") for _ in range(6)] == [200] * 6
    odd = {"origin": "https://testserver"}
    statuses = [status("q=a1", "192.0.2.1"), status("q=micro", "192.0.2.1", **odd)]
    assert statuses == [200, 200]
    refused = client.get(f"{path}?q=a2", headers={"x-forwarded-for": "192.0.2.1"})
    assert refused.status_code == 429
    assert int(refused["Retry-After"]) > 0
    assert "Content-Security-Policy" in refused
    assert "public" not in refused.get("Cache-Control", "")
    assert status("q=a3", "192.0.2.1", **odd) == 429
    assert status("q=micro", "192.0.2.1") == 200
    assert status("q=a2", "192.0.2.2") == 200
    assert status("q=a2", "192.0.2.1") == 200
    told = "Desde tu conexión llegan demasiadas búsquedas. Vuelve a probar dentro de"
    if path.startswith("/api/"):
        assert refused.json()["code"] == "too_many_requests"
        assert refused.json()["error"].startswith(told)
    else:
        assert told in refused.text
        assert "no es válida" not in refused.text


def test_address_of_a_visitor_who_searches_is_not_on_the_page(settings):
    settings.TRUSTED_PROXIES = 1
    first = text(visitor(), "/buscar?q=micro", x_forwarded_for="192.0.2.1")

    assert "192.0.2.1" not in first


def test_nothing_of_the_first_visitor_is_kept(settings):
    settings.ALLOWED_HOSTS = ["shop.test"]
    client = visitor()
    first = {"host": "shop.test", "user-agent": "evil", "accept-language": "de", "x-foreign": "1"}
    foreign = client.get("/", headers={**first, "host": "evil.test"})
    kept = text(client, "/", **first)

    assert foreign.status_code == 400
    assert client.get("/", headers={"host": "evil.test"}).status_code == 400
    assert kept == text(client, "/", host="shop.test")


def test_visitor_who_has_the_page_gets_304_with_the_security_headers():
    client = visitor()
    first = client.get("/", headers={"accept-encoding": "br"})
    by_tag = client.get("/", headers={"if-none-match": first["ETag"]})
    by_date = client.get("/", headers={"if-modified-since": first["Last-Modified"]})
    other = client.get("/", headers={"if-none-match": '"other"'})

    assert (by_tag.status_code, by_date.status_code, other.status_code) == (304, 304, 200)
    for answer in (by_tag, by_date):
        assert answer.content == b""
        assert answer["Content-Security-Policy"] == first["Content-Security-Policy"]
        assert answer["Cache-Control"] == first["Cache-Control"]
        assert "Content-Type" not in answer


def test_page_that_did_not_change_keeps_its_date():
    client = visitor()
    with time_machine.travel("2026-11-20T10:00:00Z", tick=False):
        first = client.get("/nosotros")
    with time_machine.travel("2026-11-20T11:00:00Z", tick=False):
        Faq.objects.update(question="¿Otra?")
        later = client.get("/nosotros")

    assert first["Last-Modified"] == later["Last-Modified"]


@pytest.mark.parametrize(
    ("accepted", "chosen"),
    [
        ("gzip, deflate, br, zstd", "br"),
        ("gzip;q=1.0, br;q=0", "gzip"),
        ("identity, gzip;q=0.0", ""),
        ("", ""),
    ],
)
def test_compression_is_what_the_browser_accepts(accepted, chosen):
    assert answers.chosen_encoding(accepted) == chosen


def test_memory_has_a_limit(monkeypatch):
    monkeypatch.setattr(answers, "MOST_ANSWERS", 3)
    store = answers.Store()
    for number in range(10):
        store.put(("http", "shop.test", "/compra", f"pagina={number}"), None)

    assert len(store._answers) == 3


def test_shared_cache_that_is_down_takes_no_page_down(monkeypatch):
    def refuse(*arguments, **options):
        raise ConnectionError

    monkeypatch.setattr(answers.shared, "get", refuse)
    monkeypatch.setattr(answers.shared, "set", refuse)

    assert "<!doctype html>" in text(visitor(), "/")


def test_second_process_finds_what_the_first_has_rendered(subject):
    SiteSettings.current()
    text(visitor(), "/compra")

    assert [sql for sql in queries(visitor(), "/compra") if "publicchange" not in sql] == []

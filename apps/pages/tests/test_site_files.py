"""Sitemap, robots.txt, manifest, structured data, redirects and pictures."""

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError
from django.test import Client

from apps.core.page_cache.answers import LARGEST_BODY
from apps.pages import site_files
from apps.pages.models import Faq, Redirect
from apps.pages.site_files import SUBJECTS_PER_SITEMAP
from tests.helpers.factories import make_degree, make_subject, make_university

INDEXABLE = (
    "/", "/servicios", "/nosotros", "/precios", "/asignaturas", "/compra", "/contenido-asignatura",
    "/terminos", "/privacidad", "/cookies", "/aviso-legal", "/accesibilidad",
)  # fmt: skip
pytestmark = pytest.mark.django_db


def things(client: Client, path: str) -> dict[str, dict[str, Any]]:
    html = client.get(path).content.decode()
    data = re.findall(r'<script type="application/ld\+json">(.*?)</script>', html, re.DOTALL)
    return {thing["@type"]: thing for thing in map(json.loads, data)}


def meta(html: str) -> dict[str, str]:
    return dict(re.findall(r'<meta (?:property|name)="([^"]+)" content="([^"]*)">', html))


def addresses(client: Client, path: str) -> list[str]:
    answer = client.get(path)
    assert answer["Content-Type"] == "application/xml"
    locs = ElementTree.fromstring(answer.content).findall(".//{*}loc")
    return [str(loc.text).removeprefix(settings.SITE_URL) for loc in locs]


def test_sitemap_lists_exactly_the_indexable_pages(client):
    files = addresses(client, "/sitemap.xml")
    assert files == ["/sitemap-paginas.xml", "/sitemap-asignaturas-1.xml"]
    assert sorted(addresses(client, files[0])) == sorted(INDEXABLE)
    assert addresses(client, files[1]) == []


def test_sitemap_lists_the_catalogue_in_files_of_limited_size(client, monkeypatch):
    monkeypatch.setattr(site_files, "SUBJECTS_PER_SITEMAP", 2)
    degree = make_degree()
    shown = [make_subject(name, degree=degree) for name in ("Álgebra", "Cálculo", "Física")]
    make_subject("Borrador", degree=degree, active=False)
    make_subject("Futura", degree=make_degree(make_university(status="coming_soon")))
    index = addresses(client, "/sitemap.xml")
    assert index[1:] == ["/sitemap-asignaturas-1.xml", "/sitemap-asignaturas-2.xml"]
    listed = [path for file in index[1:] for path in addresses(client, file)]
    assert listed == [subject.page_path for subject in shown]
    pages = set(addresses(client, index[0])) - {*INDEXABLE}
    assert pages == {degree.university.page_path, degree.page_path}
    assert all(client.get(path).status_code == 200 for path in (*pages, *listed))
    assert client.get("/sitemap-asignaturas-3.xml").status_code == 404


def test_largest_sitemap_is_small_enough_to_be_kept(client, settings):
    settings.SITE_URL = "https://www.academia-de-nombre-largo.example"
    make_subject("x" * 160, degree=make_degree(make_university(acronym="U" * 20)))
    file = client.get("/sitemap-asignaturas-1.xml").content
    longest = re.sub(rb"-\d+<", b"-99999999<", file)

    assert SUBJECTS_PER_SITEMAP * len(longest) < LARGEST_BODY


def test_robots_txt_disallows_admin_and_api_and_names_the_sitemap(client):
    answer = client.get("/robots.txt")
    assert answer["Content-Type"] == "text/plain"
    assert answer.content.decode() == (
        "User-agent: *\nDisallow: /admin/\nDisallow: /api/\n\n"
        f"Sitemap: {settings.SITE_URL}/sitemap.xml\n"
    )


def test_manifest_has_the_brand_and_existing_icons(client):
    answer = client.get("/site.webmanifest")
    manifest = answer.json()
    assert answer["Content-Type"] == "application/manifest+json"
    assert manifest["name"] == settings.BRAND_NAME
    assert {icon["sizes"] for icon in manifest["icons"]} == {"192x192", "512x512"}
    built = settings.STATIC_BUILD
    for icon in manifest["icons"]:
        assert (built / icon["src"].removeprefix(settings.STATIC_URL)).is_file()


@pytest.mark.parametrize("path", INDEXABLE)
def test_indexable_pages_have_link_preview_data(client, path):
    html = client.get(path).content.decode()
    said = meta(html)
    title = re.findall(r"<title>(.*?)</title>", html)[0]
    assert said["og:title"] == title
    assert said["og:description"] == said["description"] != ""
    assert said["og:url"] == settings.SITE_URL + path
    assert said["twitter:card"] == "summary_large_image"
    image = said["og:image"].removeprefix(settings.SITE_URL + settings.STATIC_URL)
    png = (settings.STATIC_BUILD / image).read_bytes()
    width, height = (int.from_bytes(png[at : at + 4], "big") for at in (16, 20))
    assert (str(width), str(height)) == (said["og:image:width"], said["og:image:height"])


def test_page_descriptions_are_unique(client):
    said = {meta(client.get(path).content.decode())["description"] for path in INDEXABLE}
    assert len(said) == len(INDEXABLE)


def test_home_has_structured_data_of_the_academy_and_its_faq(client):
    said = things(client, "/")
    assert set(said) == {"EducationalOrganization", "FAQPage"}
    assert said["EducationalOrganization"]["name"] == settings.BRAND_NAME
    assert "aggregateRating" not in said["EducationalOrganization"]
    questions = said["FAQPage"]["mainEntity"]
    assert [row["name"] for row in questions] == [faq.question for faq in Faq.objects.all()]
    assert all(row["acceptedAnswer"]["text"] for row in questions)


def test_prices_page_has_structured_data_of_both_plans(client):
    course = things(client, "/precios")["Course"]
    assert course["provider"]["name"] == settings.BRAND_NAME
    assert [(row["price"], row["priceCurrency"]) for row in course["offers"]] == [
        ("55.00", "EUR"),
        ("39.00", "EUR"),
    ]
    assert course["hasCourseInstance"] == {
        "@type": "CourseInstance",
        "courseMode": "Online",
        "courseWorkload": "PT17H45M",
    }


@pytest.mark.parametrize("path", INDEXABLE[1:])
def test_inner_pages_have_breadcrumbs(client, path):
    trail = things(client, path)["BreadcrumbList"]["itemListElement"]
    assert [row["item"] for row in trail] == [settings.SITE_URL + "/", settings.SITE_URL + path]
    assert [row["position"] for row in trail] == [1, 2]


def test_noindex_pages_have_no_structured_data(client):
    assert things(client, "/login") == {}
    assert things(client, "/no-existe") == {}


def test_structured_data_is_escaped(client):
    Faq.objects.create(question="¿</script><b>?", answer="<i>&amp;")
    questions = things(client, "/")["FAQPage"]["mainEntity"]
    assert "¿</script><b>?" in [row["name"] for row in questions]


@pytest.mark.parametrize("path", [*INDEXABLE, "/sitemap.xml", "/robots.txt", "/site.webmanifest"])
def test_unchanged_page_answers_304(client, path):
    first = client.get(path)
    again = client.get(path, headers={"If-None-Match": first["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    head = client.head(path)
    assert (head.status_code, head.content) == (200, b"")


def test_browsers_may_fetch_kept_pages_before_a_link_is_followed(client):
    pages = ["/", "/compra", "/precios", make_subject().page_path]
    names = {client.get(path)["Speculation-Rules"] for path in pages}
    assert names == {'"/speculation-rules.json"'}
    for path in (
        "/sitemap.xml",
        "/login",
        "/complete-payment",
        "/plazos",
        "/opinion",
        "/api/universities",
    ):
        assert "Speculation-Rules" not in client.get(path), path

    answer = client.get("/speculation-rules.json")
    assert answer["Content-Type"] == "application/speculationrules+json"
    rules = answer.json()
    assert [list(rules), rules["prefetch"][0]["eagerness"]] == [["prefetch"], "moderate"]
    assert set(rules["prefetch"][0]["where"]["href_matches"]) == {
        "/", "/compra", "/buscar", "/asignaturas", "/asignaturas/:university",
        "/asignaturas/:university/grados/:degree", "/asignaturas/:university/:subject",
        "/profesores/:teacher",
        "/servicios", "/nosotros", "/precios", "/contenido-asignatura",
        "/terminos", "/privacidad", "/cookies", "/aviso-legal", "/accesibilidad",
    }  # fmt: skip


def test_old_paths_redirect_as_configured(client):
    Redirect.objects.create(old_path="/tarifas", target="/precios#descuentos")
    answer = client.get("/tarifas")
    assert (answer.status_code, answer["Location"]) == (301, "/precios#descuentos")
    # With a trailing slash it takes two redirects.
    assert client.get("/tarifas/", follow=True).redirect_chain[-1][0] == "/precios#descuentos"
    assert client.get("/tarifas/2020").status_code == 404


@pytest.mark.parametrize("path", ["/static/no.css", "/imagenes/no.png", "/imagenes/..%2fno"])
def test_file_that_does_not_exist_costs_no_page(client, django_assert_num_queries, path):
    with django_assert_num_queries(0):
        answer = client.get(path)

    assert (answer.status_code, answer.content) == (404, b"No existe.")


def test_redirect_never_hides_an_existing_page(client):
    Redirect.objects.create(old_path="/precios", target="/compra")
    assert client.get("/precios").status_code == 200


@pytest.mark.parametrize(
    ("old_path", "target"),
    [
        ("tarifas", "/precios"),
        ("/tarifas/", "/precios"),
        ("/tarifas?x=1", "/precios"),
        ("/tarifas", "//otro.example"),
        ("/tarifas", "https://otro.example"),
        ("/tarifas", "/tarifas#precios"),
    ],
)
def test_admin_refuses_redirects_to_other_sites_and_to_themselves(old_path, target):
    with pytest.raises(ValidationError):
        Redirect(old_path=old_path, target=target).full_clean()

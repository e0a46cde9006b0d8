import json
import re
from typing import Any

import pytest
from django.db import connection
from django.http import QueryDict
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apps.catalogue.models import Lesson, Subject, University
from apps.core.render_memory import remembering
from apps.pages.catalogue_page import CatalogueQuery
from apps.pages.tests.test_pages import visible_text
from tests.helpers.factories import make_degree, make_subject, make_university

pytestmark = pytest.mark.django_db

OPEN = {"id": 4, "coming_soon": False}
SOON = {"id": 3, "coming_soon": True}
MOST_PRELOADS = 6


def html_of(client: Client, query: str = "") -> str:
    answer = client.get(f"/compra{query}")
    assert answer.status_code == 200
    return str(answer.content.decode())


def props_of(html: str) -> dict[str, Any]:
    data = re.search(
        r'data-island="catalogue".*?<script type="application/json">(.*?)</script>', html, re.DOTALL
    )
    assert data
    return dict(json.loads(data[1]))


def shown_subjects(html: str) -> list[str]:
    return re.findall(r'<h3 id="asignatura-\d+">(.*?)</h3>', html)


def test_page_preloads_few_scripts(client):
    preloaded = re.findall(r'<link rel="modulepreload"[^>]* href="([^"]+)"', html_of(client))
    # The island, and what it imports: React's renderer, React with the modules of
    # static_src/lib/common.ts, those of buying.ts, toasts, esbuild's helpers.
    assert len(preloaded) <= MOST_PRELOADS
    assert len(set(preloaded)) == len(preloaded)
    assert "/catalogue-" in preloaded[0]


def test_first_page_is_complete_without_javascript(client):
    degree = make_degree(name="Psicología")
    subject = make_subject(
        "Psicología social", "192.00", degree=degree, lessons=2, total_discounts=20
    )
    subject.lessons.filter(title="PEC 2").update(status=Lesson.Status.EXPIRED)
    html = html_of(client)
    text = visible_text(html).replace("\xa0", " ")
    assert shown_subjects(html) == ["Psicología social"]
    # 192 is 240 less 20 %: the badge shows 48 whole euros.
    assert f"{degree.name} −48 € Psicología social 2 PECs Asignatura completa" in text
    assert "PEC 1 55,00 € PEC 2 Caducada" in text
    assert "Asignatura completa Antes: 240,00 € 192,00 €" in text
    assert "Seleccionar todo Ver más" in text
    assert html.count(f'href="{subject.page_path}" target="_blank" rel="noopener"') == 2
    assert "hace falta JavaScript" in text
    assert '<a href="/asignaturas">Por universidad y grado</a>' in html


def test_subject_without_discount_has_no_badge_and_no_list_price(client):
    make_subject("Microeconomía", "192.00")
    html = html_of(client)
    assert "badge--success" not in html
    assert "price--list" not in html


def test_subject_names_are_escaped(client):
    make_subject("</script><b>Álgebra & más</b>")
    html = html_of(client)
    assert shown_subjects(html) == ["&lt;/script&gt;&lt;b&gt;Álgebra &amp; más&lt;/b&gt;"]
    assert props_of(html)["page"]["results"][0]["name"] == "</script><b>Álgebra & más</b>"


def test_island_props_have_the_page_of_the_html(client):
    degree = make_degree()
    for number in range(11):
        make_subject(f"Asignatura {number:02}", degree=degree)
    html = html_of(client, "?pagina=2")
    props = props_of(html)
    assert [subject["name"] for subject in props["page"]["results"]] == shown_subjects(html)
    assert shown_subjects(html) == ["Asignatura 09", "Asignatura 10"]
    assert props["query"] == {
        "university_id": degree.university_id,
        "degree_id": None,
        "search": "",
        "order": "matriculados",
        "page": 2,
        "page_size": 9,
    }
    assert props["pricing"]["volume"] == [[2, 15], [3, 45], [4, 70], [5, 90], [6, 110]]
    assert [row["name"] for row in props["degrees"]] == [degree.name]


def test_first_open_university_is_selected(client):
    soon = make_university("Academia del Norte", status=University.Status.COMING_SOON)
    second = make_university("Universidad del Sur")
    first = make_university("Universidad Ártica")
    html = html_of(client)
    options = re.findall(r'<option value="(\d+)"([^>]*)>([^<]+)</option>', html)
    assert [(int(pk), flags.split(), text) for pk, flags, text in options] == [
        (soon.pk, ["disabled"], f"Academia del Norte ({soon.acronym}) · Próximamente"),
        (first.pk, ["selected"], f"Universidad Ártica ({first.acronym})"),
        (second.pk, [], f"Universidad del Sur ({second.acronym})"),
    ]
    assert props_of(html)["query"]["university_id"] == first.pk


def test_page_without_an_open_university_shows_no_results(client):
    make_university(status=University.Status.COMING_SOON)
    html = html_of(client)
    assert "No se encontraron asignaturas" in html
    assert props_of(html)["query"]["university_id"] is None


def test_filters_and_pages_work_without_javascript(client):
    degree = make_degree(name="Derecho")
    for number in range(13):
        make_subject(f"Derecho {number:02}", degree=degree)
    make_subject("Historia", degree=degree)
    make_subject("Derecho ajeno", degree=make_degree(degree.university, "Turismo"))
    uni = degree.university_id
    query = f"?universidad={uni}&carrera={degree.pk}&buscar=DERÉCHO&por_pagina=6"
    html = html_of(client, query).partition("<main")[2]
    assert shown_subjects(html) == [f"Derecho {number:02}" for number in range(6)]
    assert re.search(r'<form id="filtros" class="filters" action="/compra">', html)
    assert re.findall(r'<(?:select|input)[^>]* name="(\w+)"', html) == [
        "universidad",
        "carrera",
        "buscar",
        # What is shown stays if a subject is chosen before the page's script is there.
        *re.findall(r'<input type="hidden" name="(\w+)"', html),
        "orden",
        "por_pagina",
    ]
    assert re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', html) == [
        ("universidad", str(uni)),
        ("carrera", str(degree.pk)),
        ("buscar", "DERÉCHO"),
        ("por_pagina", "6"),
    ]
    following = re.search(r'href="([^"]+)" rel="next"', html)
    assert following
    html = html_of(client, following[1].replace("&amp;", "&").removeprefix("/compra"))
    assert shown_subjects(html) == [f"Derecho {number:02}" for number in range(6, 12)]
    assert 'rel="prev"' in html


def test_order_works_without_javascript_and_stays_on_further_pages(client):
    degree = make_degree()
    for number in range(7):
        make_subject(f"Asignatura {number}", f"{200 - number}.00", degree=degree)
    html = html_of(client, "?orden=precio&por_pagina=6")
    assert shown_subjects(html) == [f"Asignatura {number}" for number in range(6, 0, -1)]
    assert '<option value="precio" selected>Precio</option>' in html
    assert props_of(html)["query"]["order"] == "precio"
    following = re.search(r'href="([^"]+)" rel="next"', html)
    assert following
    html = html_of(client, following[1].replace("&amp;", "&").removeprefix("/compra"))
    assert shown_subjects(html) == ["Asignatura 0"]


def test_search_without_results_leads_to_all_universities_and_to_the_request(client):
    make_subject()
    html = html_of(client, "?buscar=qu%C3%ADmica+%26+m%C3%A1s")
    assert 'href="/buscar?q=qu%C3%ADmica%20%26%20m%C3%A1s"' in html
    assert 'href="#solicitar-asignatura"' in html
    assert 'id="solicitar-asignatura"' in html


def test_page_number_beyond_the_last_shows_the_last(client):
    degree = make_degree()
    for number in range(10):
        make_subject(f"Asignatura {number}", degree=degree)
    html = html_of(client, "?pagina=999999999")
    assert shown_subjects(html) == ["Asignatura 9"]
    assert props_of(html)["query"]["page"] == 2


def test_todas_shows_pages_of_18_subjects(client):
    degree = make_degree()
    for number in range(20):
        make_subject(f"Asignatura {number:02}", degree=degree)
    html = html_of(client, "?por_pagina=todas&pagina=2")
    assert len(shown_subjects(html)) == 18
    assert shown_subjects(html)[0] == "Asignatura 00"
    assert props_of(html)["query"]["page_size"] == "todas"
    assert re.search(
        r'href="/compra\?universidad=\d+&amp;por_pagina=18&amp;pagina=2" rel="next"', html
    )


def test_degree_of_another_university_is_ignored(client):
    own = make_subject("Propia").degree
    foreign = make_degree(make_university("Zeta"))
    html = html_of(client, f"?universidad={own.university_id}&carrera={foreign.pk}")
    assert shown_subjects(html) == ["Propia"]
    assert props_of(html)["query"]["degree_id"] is None


@pytest.mark.parametrize(
    "text",
    [
        "universidad=99&carrera=1.5&pagina=-1&por_pagina=7",
        "universidad=3&pagina=0",
        "universidad=%00&pagina=99999999999999999999&por_pagina=TODAS",
        "carrera=²&pagina=٣&buscar=%20%20",
        "buscar=%00",
        "orden=price",
    ],
)
def test_invalid_query_values_fall_back_to_defaults(text):
    query = CatalogueQuery.parse(QueryDict(text), [SOON, OPEN])
    assert query == CatalogueQuery(university_id=4)


def test_search_is_cut_at_100_characters():
    query = CatalogueQuery.parse(QueryDict("buscar=" + "a" * 150), [OPEN])
    assert query.search == "a" * 100


def test_page_runs_the_same_queries_for_1_and_18_subjects(client):
    degree = make_degree()
    make_subject("Primera", degree=degree)
    html_of(client)  # creates the row of SiteSettings

    def queries(query: str) -> int:
        # As the page cache renders it: what pages share is read once.
        with remembering({}), CaptureQueriesContext(connection) as captured:
            html_of(client, query)
        return len(captured)

    one = queries("?por_pagina=18")
    for number in range(17):
        make_subject(f"Asignatura {number}", degree=degree, lessons=6)
    assert Subject.objects.on_sale().count() == 18
    assert queries("?por_pagina=18") == one
    assert one <= 9, one


def test_subject_of_a_link_is_in_the_props(client):
    subject = make_subject("Cálculo", "200.00")

    assert props_of(html_of(client))["chosen"] is None
    chosen = props_of(html_of(client, f"?asignatura={subject.pk}"))["chosen"]["subject"]
    assert (chosen["id"], chosen["name"], chosen["final_price"]) == (subject.pk, "Cálculo", 200.0)
    assert [lesson["title"] for lesson in chosen["lessons"]] == ["PEC 1", "PEC 2"]


@pytest.mark.parametrize("named", ["", "0", "x", "-1", "1.5", "999999999999", "²", "{pk}"])
def test_subject_of_a_link_that_is_not_on_sale_is_none(client, named):
    subject = make_subject("Cálculo", active=False)

    html = html_of(client, f"?asignatura={named.format(pk=subject.pk)}")

    assert props_of(html)["chosen"] == {"subject": None}


def card_of(html: str, subject: Subject) -> str:
    return html.partition(f'aria-labelledby="asignatura-{subject.pk}"')[2].partition("</article>")[
        0
    ]


def test_card_has_the_whole_first_with_contents_and_saving_and_folds_after_four_lessons(client):
    subject = make_subject("Álgebra", "247.00", lessons=6, videos_count=42)
    card = card_of(html_of(client), subject)
    text = visible_text(card).replace("\xa0", " ")
    assert "Álgebra 6 PECs · 42 vídeos Asignatura completa 247,00 €" in text
    assert "Ahorras 83 € frente a PECs sueltas" in text
    assert text.index("247,00 €") < text.index("PEC 1")
    shown, _, folded = card.partition('<details class="subject__rest">')
    assert [shown.count('type="checkbox"'), folded.count('type="checkbox"')] == [4, 2]
    assert "<summary>y 2 más</summary>" in folded
    # Four lessons need no fold.
    four = make_subject("Cálculo", "200.00", lessons=4, degree=subject.degree)
    assert "<details" not in card_of(html_of(client), four)


def test_card_of_a_subject_sold_complete_only_offers_no_lesson_and_no_saving(client):
    subject = make_subject("Álgebra", "100.00", lessons=2, complete_only=True)
    card = card_of(html_of(client), subject)
    assert "checkbox" not in card
    assert visible_text(card).count("Solo con la completa") == 2
    assert "Ahorras" not in card
    page = html_of_path(client, subject.page_path)
    assert "Esta asignatura solo se vende completa." in page
    assert 'value="lecciones"' not in page
    assert page.count('"@type": "Offer"') + page.count('"@type":"Offer"') == 1


def html_of_path(client: Client, path: str) -> str:
    return str(client.get(path).content.decode())

"""Search over the whole catalogue: words, accents, mistyped words, degrees and universities."""

from datetime import date

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.catalogue import search
from apps.catalogue.models import Subject, University
from apps.catalogue.search import search_catalogue, suggest
from apps.catalogue.search_words import understand
from tests.helpers.factories import make_degree, make_subject, make_university

pytestmark = pytest.mark.django_db


@pytest.fixture
def catalogue():
    """Subjects by name, of two degrees at the universities UAF and UDP."""
    faro = make_university("Universidad Abierta del Faro", acronym="UAF")
    poniente = make_university("Universidad a Distancia de Poniente", acronym="UDP")
    psychology, law = make_degree(faro, "Psicología"), make_degree(poniente, "Derecho")
    rows = [
        make_subject("Estadística aplicada", degree=psychology),
        make_subject("Psicología de la memoria", degree=psychology),
        make_subject("Psicología jurídica", degree=law),
        make_subject("Derecho penal español", degree=law),
    ]
    return {row.name: row for row in rows}


def names(text: str) -> set[str]:
    return set(search_catalogue(text).subjects.values_list("name", flat=True))


@pytest.mark.usefixtures("catalogue")
def test_each_word_is_in_the_subject_its_degree_or_its_university():
    assert names("ESTADISTICA") == {"Estadística aplicada"}
    assert names("espanol") == names("español") == {"Derecho penal español"}
    assert names("memoria psicología") == {"Psicología de la memoria"}
    assert names("psicologia uaf") == {"Estadística aplicada", "Psicología de la memoria"}
    assert names("la memoria de la psicología") == {"Psicología de la memoria"}
    assert names("juridica udp") == {"Psicología jurídica"}
    assert names("juridica uaf") == set()


@pytest.mark.usefixtures("catalogue")
def test_mistyped_words_are_replaced_only_if_nothing_is_found():
    for typed in ("psciologia", "psicolgia", "psikologia", "pisco"):
        found = search_catalogue(typed)
        assert "Psicología jurídica" in set(found.subjects.values_list("name", flat=True)), typed
    assert search_catalogue("estadistca uaf").corrected == "estadistica uaf"
    assert names("estadistca uaf") == {"Estadística aplicada"}
    assert search_catalogue("psicologia").corrected == ""
    # Short words have no near ones, and far ones do not count.
    assert names("xyz") == names("astrofisica") == names("") == names("%") == set()


def test_degrees_and_universities_are_found_by_name_and_acronym(catalogue):
    degree = catalogue["Derecho penal español"].degree
    assert search_catalogue("derecho udp").degrees == [degree]
    assert search_catalogue("derecho uaf").degrees == []
    assert search_catalogue("poniente").universities == [degree.university]
    assert search_catalogue("ponente").universities == [degree.university]


def test_drafts_and_later_universities_are_not_found(catalogue):
    draft = catalogue["Psicología jurídica"]
    draft.active = False
    draft.save()
    later = make_university("Universidad Futura", status=University.Status.COMING_SOON)
    make_subject("Psicología del futuro", degree=make_degree(later))
    assert names("psicologia juridica") == names("futuro") == set()
    assert search_catalogue("futura").universities == []


@pytest.mark.usefixtures("catalogue")
def test_announced_university_says_so_and_offers_to_tell_when_a_subject_is_published(client):
    later = make_university(
        "Universidad del Duero", acronym="UDD", status=University.Status.COMING_SOON
    )
    for typed in ("duero", "derecho udd", "universidad deuro"):
        assert search_catalogue(typed).announced == [later], typed
    assert search_catalogue("derecho").announced == []
    (suggestion,) = suggest("duero")
    assert suggestion == {"name": later.name, "detail": "Próximamente", "url": "/buscar?q=UDD"}

    html = client.get(suggestion["url"]).content.decode()
    assert "Universidad del Duero: próximamente." in html
    assert '"university": "Universidad del Duero"' in html
    assert "No se encontraron asignaturas" not in html


def test_suggestions_lead_to_pages_and_the_last_resort_is_a_request(client, catalogue):
    popular = catalogue["Psicología jurídica"]
    Subject.objects.filter(pk=popular.pk).update(popularity=9)
    rows = client.get("/api/suggestions", {"q": "psicologia"}).json()["suggestions"]
    degree = catalogue["Psicología de la memoria"].degree
    assert rows[0] == {
        "name": degree.name,
        "detail": "Grado · UAF",
        "url": degree.page_path,
    }
    assert rows[1]["url"] == popular.page_path
    assert suggest("nada parecido") == [
        {
            "name": "No encontramos «nada parecido»",
            "detail": "Pídenosla",
            "url": "/buscar?q=nada+parecido",
        }
    ]
    assert client.get("/api/suggestions").json()["error"] == "Escribe lo que buscas."
    assert client.get("/api/suggestions", {"q": "x" * 101}).status_code == 400


@pytest.mark.usefixtures("catalogue")
def test_search_page_sorts_and_offers_a_request(client):
    html = client.get("/buscar", {"q": "psicologia", "orden": "nombre"}).content.decode()
    assert html.index("Psicología de la memoria") < html.index("Psicología jurídica")
    assert "/buscar?q=psicologia&amp;orden=precio" in html
    corrected = client.get("/buscar", {"q": "psciologia"}).content.decode()
    assert "Esto es lo que hay de <strong>«psicologia»</strong>" in corrected
    nothing = client.get("/buscar", {"q": "<astro>"}).content.decode()
    assert "Resultados de «&lt;astro&gt;»" in nothing
    assert "No se encontraron asignaturas" in nothing
    for page in (html, nothing):
        assert 'data-island="subject-request"' in page
        assert 'content="noindex"' in page
    assert client.get("/buscar").status_code == 200


@pytest.mark.parametrize("search", ["a", "ab", "sobre", "ñ", "x3", "%", "_", "\\", "'", "so bre"])
def test_search_finds_the_same_names_as_a_plain_substring_match(search):
    degree = make_degree()
    Subject.objects.bulk_create(
        Subject(degree=degree, name=name, final_price=1, active_lessons_count=1)
        for name in ("100 %", "a_b", "barra \\ doble", "l'art", "niño", "ab", "sobre x3", "bar")
    )
    form = search.replace("ñ", "n")
    expected = [
        name for name in Subject.objects.values_list("name_search", flat=True) if form in name
    ]

    assert Subject.objects.name_contains(search).count() == len(expected)


@pytest.fixture
def numbered():
    """Numbered subjects with codes and semesters; of the second only the exam is on sale."""
    degree = make_degree(make_university("Universidad Abierta del Faro", acronym="UAF"))
    first = make_subject("Estadística I", degree=degree, code="62011037", semester="first")
    second = make_subject("Estadística II", degree=degree, lessons=1, semester="second")
    make_subject("Introducción a la estadística", degree=degree, semester="whole_year")
    make_subject("Derecho 1: parte general", degree=degree)
    second.lessons.update(title="Examen", kind="exam")
    Subject.objects.filter(pk=first.pk).update(exam_on=date(2027, 1, 20), resit_on=date(2027, 6, 9))
    return first


@pytest.mark.parametrize(
    ("typed", "found", "understood"),
    [
        ("estadistica 1", {"Estadística I"}, []),
        ("Estadística i", {"Estadística I"}, []),
        ("estadistica 2", {"Estadística II"}, []),
        ("derecho I", {"Derecho 1: parte general"}, []),
        ("pec 1 estadística I", {"Estadística I"}, ["PEC 1"]),
        ("estadistica pec1", {"Estadística I", "Introducción a la estadística"}, ["PEC 1"]),
        ("estadistica PEC-2", {"Estadística I", "Introducción a la estadística"}, ["PEC 2"]),
        ("pec 9", set(), ["PEC 9"]),
        ("examen", {"Estadística II"}, ["Examen"]),
        ("examen enero", {"Estadística I"}, ["Examen en enero"]),
        ("estadistica examen de junio", {"Estadística I"}, ["Examen en junio"]),
        ("examen marzo", set(), ["Examen en marzo"]),
        ("primer semestre", {"Estadística I"}, ["Primer semestre"]),
        ("estadistica 2.º cuatrimestre", {"Estadística II"}, ["Segundo semestre"]),
        ("semestre 2", {"Estadística II"}, ["Segundo semestre"]),
        ("estadistica anual", {"Introducción a la estadística"}, ["Anual"]),
        ("62011037", {"Estadística I"}, ["Código 62011037"]),
        ("62011038", set(), []),
        (
            "pec 1 de estadistica del primer semestre",
            {"Estadística I"},
            ["PEC 1", "Primer semestre"],
        ),
    ],
)
@pytest.mark.usefixtures("numbered")
def test_lessons_semesters_codes_and_numbers_are_understood(typed, found, understood):
    assert names(typed) == found
    assert [part.label for part in search_catalogue(typed).understood] == understood


@pytest.mark.usefixtures("numbered")
def test_page_says_what_it_understood_and_leaves_each_part_out(client):
    page = client.get("/buscar?q=pec+1+estadistica+primer+semestre").content.decode()
    assert 'href="/buscar?q=estadistica+primer+semestre"' in page
    assert 'href="/buscar?q=pec+1+estadistica"' in page
    assert 'href="/buscar"' in client.get("/buscar?q=pec+1").content.decode()


@pytest.mark.parametrize(
    ("typed", "understood", "rests"),
    [
        ("pec1 pec 1 PEC-1", ["PEC 1"], [""]),
        (
            "pr1 pr2 pr3 pr4 pr5 pr6 pr7 pr8 pr9",
            ["PR 1", "PR 2", "PR 3"],
            [f"{two} pr4 pr5 pr6 pr7 pr8 pr9" for two in ("pr2 pr3", "pr1 pr3", "pr1 pr2")],
        ),
    ],
)
@pytest.mark.usefixtures("numbered")
def test_three_parts_are_searched_for_and_each_once(typed, understood, rests):
    found = search_catalogue(typed)
    assert [part.label for part in found.understood] == understood
    assert [part.rest for part in found.understood] == rests
    assert str(found.subjects.query).count("EXISTS") == len(understood)


def test_codes_are_looked_up_by_one_statement(numbered, django_assert_num_queries):
    typed = " ".join([numbered.code, *(f"620{number}" for number in range(15))])
    with django_assert_num_queries(1):
        asked = understand(typed, is_name=lambda _: False)
    assert [part.label for part in asked.parts] == [f"Código {numbered.code}"]


def test_word_of_a_name_is_no_exam(numbered):
    make_subject("Examen neurológico", degree=numbered.degree)
    assert names("examen") == {"Examen neurológico"}


@pytest.mark.usefixtures("numbered")
def test_words_of_the_catalogue_are_read_once_however_often_a_search_asks_for_them():
    with CaptureQueriesContext(connection) as one:
        search_catalogue("a1 examen")
    with CaptureQueriesContext(connection) as many:
        search_catalogue("a1 " + "examen anual " * 7)
    assert len(many) == len(one)
    with CaptureQueriesContext(connection) as corrected:
        search_catalogue("examen estadisica")
    read = [query["sql"] for query in corrected if "DISTINCT" in query["sql"]]
    assert len(read) == 1


@pytest.mark.usefixtures("catalogue")
def test_three_mistyped_words_are_corrected_and_of_more_none(monkeypatch):
    compared = []
    nearest = search._nearest
    monkeypatch.setattr(
        search, "_nearest", lambda word, known: compared.append(word) or nearest(word, known)
    )
    three = search_catalogue("derexho penql espanyol udp")
    assert three.corrected == "derecho penal espanol udp"
    assert len(compared) == 3

    assert search_catalogue("derexho penql espanyol udq").corrected == ""
    assert len(compared) == 3


@pytest.mark.usefixtures("numbered")
def test_condition_of_a_number_is_made_once_however_many_degrees_there_are(monkeypatch):
    make_degree(make_university("Universidad de los Números"))
    made = []
    condition_of = search.number_in_name
    monkeypatch.setattr(
        search, "number_in_name", lambda word: made.append(word) or condition_of(word)
    )

    assert names("derecho 1") == {"Derecho 1: parte general"}
    assert made == ["derecho", "1"]

"""The pages of subjects, degrees, universities and teachers, and of what a search finds."""

from collections.abc import Callable
from functools import cache
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponsePermanentRedirect, QueryDict
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from apps.catalogue import reads
from apps.catalogue.addresses import ROOT, id_in
from apps.catalogue.lesson_kinds import LessonKind
from apps.catalogue.models import Degree, Lesson, Subject, SubjectQuerySet, University
from apps.catalogue.search import SEARCHES, search_catalogue
from apps.catalogue.search_words import LONGEST_SEARCH
from apps.catalogue.text import search_form
from apps.core.page_cache.policy import public_page
from apps.pages import structured_data
from apps.pages.content import EXAM, SUBJECT_CONTENT
from apps.pages.models import MOST_ROWS, LessonSample, Opinion, TeamMember
from apps.pages.opinions.ratings import FEWEST_OF_A_SUBJECT, rating_of
from apps.pages.pager import page_links
from apps.pages.reads import shown_teachers, syllabus_of
from apps.pages.structured_data import Crumb
from apps.pages.subject_prices import SubjectPrices, questions_about
from apps.payments.context import academy_props
from apps.payments.stripe.page_policy import paying_page
from apps.pricing.reads import campaigns_today, current_terms, pricing_data

PAGE_SIZE = 24
OPINIONS_SHOWN = 12
SUBJECTS_OF_TEACHER = 48
MOST_TEACHERS = 200
GONE = 410
# Value of `orden` in the address, its label, and the sort keys of the subjects.
ORDERS = {
    "popularidad": (
        "Más elegidas",
        ("-popularity", "-enrolled_students_count", "name_sort", "pk"),
    ),
    "nombre": ("Nombre", ("name_sort", "pk")),
    "precio": ("Precio", ("final_price", "name_sort", "pk")),
}
MOST_POPULAR = "popularidad"


ALL_SUBJECTS = Crumb("Asignaturas", ROOT)


@public_page()
@require_safe
@paying_page
def subject_page(request: HttpRequest, university: str, subject: str) -> HttpResponse:
    """The page of a subject. One that is not sold any more answers 410 and takes a request."""
    row = reads.subject_of_page(id_in(subject) or 0)
    if row is None:
        raise Http404
    path = row.page_path
    if request.path != path:
        return HttpResponsePermanentRedirect(path)
    degree = row.degree
    crumbs = [
        ALL_SUBJECTS,
        Crumb(degree.university.acronym, degree.university.page_path),
        Crumb(degree.name, degree.page_path),
        Crumb(row.name, path),
    ]
    if not row.active:
        return render(
            request,
            "pages/asignatura_retirada.html",
            {"subject": row, "crumbs": crumbs, "things": []},
            status=GONE,
        )
    campaigns, terms = campaigns_today(), current_terms()
    prices = SubjectPrices.of(row, terms, campaigns)
    card = reads.card_data(row)
    opinions = row.opinions.published()
    rating = rating_of(row.opinions.all(), FEWEST_OF_A_SUBJECT)
    teachers = list(teachers_of(row)[:MOST_ROWS])
    syllabus = syllabus_of(row)
    return render(
        request,
        "pages/asignatura.html",
        {
            "subject": row,
            "crumbs": crumbs,
            "prices": prices,
            "contents": card["contents"],
            "syllabus": syllabus,
            "exams": row.coming_exams(),
            "content": SUBJECT_CONTENT,
            "exam": EXAM if _has_exam(row) else (),
            "teachers": teachers,
            "sample": LessonSample.objects.filter(lesson__subject=row)
            .select_related("lesson")
            .order_by("lesson__position", "pk")
            .first(),
            "opinions": opinions[:OPINIONS_SHOWN],
            "rating": rating,
            "questions": [
                *row.questions_and_answers(),
                *questions_about(row, prices, terms.plan),
            ],
            "things": structured_data.describe_subject(
                row, prices, crumbs, rating, teachers=teachers, syllabus=syllabus
            ),
            "props": {
                "subject": card,
                "pricing": pricing_data(terms, campaigns),
                "academy": academy_props(),
            },
        },
    )


def _lessons(subject: Subject) -> list[Lesson]:
    return list(subject.lessons.all())


def _has_exam(subject: Subject) -> bool:
    has_lesson = any(lesson.kind == LessonKind.EXAM for lesson in _lessons(subject))
    return bool(has_lesson or subject.exam_content or subject.exam_on)


def teachers_of(subject: Subject) -> QuerySet[TeamMember]:
    """The subject's own teachers; those of its degree if it has none."""
    shown = shown_teachers()
    own = shown.filter(subjects=subject)
    return own if own.exists() else shown.filter(degrees=subject.degree_id)


@public_page()
@require_safe
def teacher_page(request: HttpRequest, teacher: str) -> HttpResponse:
    """Who a teacher is, what they teach, and what students say of it."""
    row = shown_teachers().filter(pk=id_in(teacher) or 0).first()
    if row is None:
        raise Http404
    if request.path != row.page_path:
        return HttpResponsePermanentRedirect(row.page_path)
    own = Subject.objects.on_sale().filter(teachers=row).select_related("degree__university")
    subjects = list(own.order_by("name_sort", "pk")[:SUBJECTS_OF_TEACHER])
    opened = University.objects.open()
    degrees = row.degrees.filter(university__in=opened, subjects_count__gt=0)
    crumbs = [Crumb("Nuestros profesores", reverse("nosotros")), Crumb(row.name, row.page_path)]
    opinions = Opinion.objects.published().filter(subject__in=[each.pk for each in subjects])
    return render(
        request,
        "pages/profesor.html",
        {
            "teacher": row,
            "crumbs": crumbs,
            "cards": subject_cards(subjects),
            "degrees": degrees.select_related("university").by_name(),
            "opinions": opinions.select_related("subject")[:OPINIONS_SHOWN],
            "things": structured_data.describe_teacher(row, crumbs),
        },
    )


@public_page()
@require_safe
def all_subjects(request: HttpRequest) -> HttpResponse:
    """The universities with their degrees."""
    degrees = Degree.objects.filter(subjects_count__gt=0).by_name()
    universities = (
        University.objects.shown()
        .open_first()
        .prefetch_related(Prefetch("degrees", degrees, to_attr="shown_degrees"))
    )
    crumbs = [ALL_SUBJECTS]
    return render(
        request,
        "pages/asignaturas.html",
        {
            "universities": universities,
            "crumbs": crumbs,
            "things": [structured_data.describe_path(crumbs)],
        },
    )


@public_page("orden", "pagina")
@require_safe
def university_page(request: HttpRequest, university: str) -> HttpResponse:
    row = University.objects.open().filter(pk=id_in(university) or 0).first()
    if row is None:
        raise Http404
    return _list_page(
        request,
        "pages/universidad.html",
        path=row.page_path,
        crumbs=[ALL_SUBJECTS, Crumb(row.acronym, row.page_path)],
        subjects=Subject.objects.findable().filter(university=row),
        context={
            "university": row,
            "degrees": row.degrees.filter(subjects_count__gt=0).by_name(),
        },
    )


@public_page("orden", "pagina")
@require_safe
def degree_page(request: HttpRequest, university: str, degree: str) -> HttpResponse:
    row = (
        Degree.objects.select_related("university")
        .filter(pk=id_in(degree) or 0, university__in=University.objects.open())
        .first()
    )
    if row is None:
        raise Http404
    return _list_page(
        request,
        "pages/grado.html",
        path=row.page_path,
        crumbs=[
            ALL_SUBJECTS,
            Crumb(row.university.acronym, row.university.page_path),
            Crumb(row.name, row.page_path),
        ],
        subjects=Subject.objects.findable().filter(degree=row),
        context={"degree": row, "university": row.university},
    )


def _list_page(
    request: HttpRequest,
    template: str,
    *,
    path: str,
    crumbs: list[Crumb],
    subjects: SubjectQuerySet,
    context: dict[str, Any],
) -> HttpResponse:
    """Show a page of the subjects, or redirect to the current words of the address."""
    if request.path != path:
        query = request.META.get("QUERY_STRING", "")
        return HttpResponsePermanentRedirect(f"{path}?{query}" if query else path)
    order = order_of(request.GET)
    page, shown = subjects_in_order(subjects, order, request.GET.get("pagina"))
    return render(
        request,
        template,
        {
            **context,
            "crumbs": crumbs,
            "page": page,
            "cards": subject_cards(shown),
            "order": order,
            "orders": order_links(order, lambda key: path + page_query(key, 1)),
            "page_links": page_links(
                lambda number: path + page_query(order, number),
                page.number,
                page.paginator.num_pages,
            ),
            # Another order has the same subjects, so search engines get one list only.
            "canonical_query": page_query(
                MOST_POPULAR, page.number if order == MOST_POPULAR else 1
            ),
            "things": [structured_data.describe_path(crumbs)],
        },
    )


def order_of(params: QueryDict) -> str:
    order = params.get("orden", "")
    return order if order in ORDERS else MOST_POPULAR


def subjects_in_order(
    subjects: SubjectQuerySet, order: str, number: str | None
) -> tuple[Page[int], list[Subject]]:
    """Return one page of the subjects' ids, and its subjects with degree and university.

    Paging the ids alone fetches no skipped row.
    """
    _, keys = ORDERS[order]
    ids = subjects.order_by(*keys).values_list("pk", flat=True)
    page: Page[int] = Paginator(ids, PAGE_SIZE).get_page(number)
    rows = Subject.objects.select_related("degree__university").in_bulk(list(page.object_list))
    return page, [rows[pk] for pk in page.object_list]


def subject_cards(subjects: list[Subject]) -> list[dict[str, Any]]:
    """Return the cards of a list: a subject and today's price of the whole."""
    campaigns = campaigns_today()
    return [
        {
            "subject": subject,
            "price_cents": SubjectPrices.of_whole(subject, campaigns).price_cents,
        }
        for subject in subjects
    ]


def page_query(order: str, page: int, **own: str) -> str:
    """Return the query string of a page of a list, its own parameters first, without defaults."""
    params: dict[str, str | int] = {**own}
    if order != MOST_POPULAR:
        params["orden"] = order
    if page > 1:
        params["pagina"] = page
    return f"?{urlencode(params)}" if params else ""


def order_links(current: str, url: Callable[[str], str]) -> list[dict[str, Any]]:
    return [
        {"label": label, "url": url(key), "is_current": key == current}
        for key, (label, _) in ORDERS.items()
    ]


def _searched(text: str) -> dict[str, str]:
    return {"q": text} if text else {}


def teachers_named(text: str) -> list[TeamMember]:
    """The teachers whose names have a word that begins like each word of the text."""
    words = search_form(text).split()
    return [
        teacher
        for teacher in shown_teachers()[:MOST_TEACHERS]
        if words and all(f" {word}" in f" {search_form(teacher.name)}" for word in words)
    ]


def subjects_of(teachers: list[TeamMember]) -> SubjectQuerySet:
    """The subjects that name one of the teachers as their own."""
    own = TeamMember.subjects.through.objects.filter(teammember__in=teachers)
    opened = University.objects.open()
    return Subject.objects.findable().filter(pk__in=own.values("subject"), university__in=opened)


@public_page("q", "orden", "pagina", limit=SEARCHES)
@require_safe
def search_page(request: HttpRequest) -> HttpResponse:
    """What a search finds in the whole catalogue. If nothing, the form to request a subject."""
    text = request.GET.get("q", "").strip()[:LONGEST_SEARCH]
    # A search that finds no subject asks twice with the same words.
    named = cache(teachers_named)
    found = search_catalogue(text, names_another=lambda words: bool(named(words)))
    teachers = named(found.names)
    order = order_of(request.GET)
    subjects = found.subjects
    if teachers and not subjects.exists():
        subjects = subjects_of(teachers).filter(found.condition)
    page, shown = subjects_in_order(subjects, order, request.GET.get("pagina"))
    own = _searched(text)
    academy = academy_props()

    def url(order: str, number: int) -> str:
        query = page_query(order, number, **own)
        return f"{request.path}{query}"

    return render(
        request,
        "pages/buscar.html",
        {
            "text": text,
            "found": found,
            "teachers": teachers,
            "understood": [
                (part.label, f"{request.path}{page_query(MOST_POPULAR, 1, **_searched(part.rest))}")
                for part in found.understood
            ],
            "announced": [
                {
                    "pk": university.pk,
                    "university": university.name,
                    "request": {"academy": academy, "university": university.name},
                }
                for university in found.announced
            ],
            "page": page,
            "cards": subject_cards(shown),
            "orders": order_links(order, lambda key: url(key, 1)),
            "page_links": page_links(
                lambda number: url(order, number), page.number, page.paginator.num_pages
            ),
        },
    )

"""The line of contents on a card, subjects that are sold complete only, and the VAT."""

import pytest

from apps.catalogue import reads
from apps.catalogue.lesson_kinds import LessonKind, contents_of, kind_in
from apps.catalogue.models import Lesson, Subject
from apps.catalogue.reads import catalogue_vat_note
from apps.catalogue.seed import seed_catalogue
from apps.catalogue.vat import Vat
from apps.core.money import to_cents
from apps.orders.offer.cart import CheckoutItem, on_sale
from tests.helpers.factories import make_subject

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("kinds", "videos", "line"),
    [
        (["pec"] * 5 + ["exam"], 42, "5 PECs · examen · 42 vídeos"),
        (["pec"], 1, "1 PEC · 1 vídeo"),
        (["pec", "practice", "exam", "exam", "other"], 0, "1 PEC · PR · 2 exámenes · 1 lección"),
        ([], 0, ""),
    ],
)
def test_line_counts_each_kind_of_lesson_and_the_videos(kinds, videos, line):
    assert contents_of(kinds, videos) == line


@pytest.mark.parametrize(
    ("title", "kind"),
    [("PEC 3", "pec"), ("Práctica final", "practice"), ("PR 1", "practice"), ("EXAMEN", "exam"),
     ("Pecera", "other"), ("", "other")],
)  # fmt: skip
def test_kind_is_read_from_the_title_unless_staff_have_chosen_one(title, kind):
    assert kind_in(title) == kind
    subject = make_subject(lessons=0)
    lesson = Lesson.objects.create(subject=subject, title=title, price=1)
    assert lesson.kind == kind
    lesson.kind = LessonKind.EXAM
    lesson.save()
    lesson.refresh_from_db()
    assert lesson.kind == "exam"


def test_card_names_contents_also_those_of_expired_lessons():
    subject = make_subject(lessons=2, videos_count=18)
    Lesson.objects.create(subject=subject, title="Examen", price=55)
    subject.lessons.filter(title="PEC 1").update(status=Lesson.Status.EXPIRED)
    card = reads.on_sale_subject(subject.pk)
    assert card is not None
    assert card["contents"] == "2 PECs · examen · 18 vídeos"


def test_lessons_of_a_subject_that_is_sold_complete_only_cannot_be_bought():
    subject = make_subject(lessons=2, complete_only=True)
    lesson = subject.lessons.first()
    assert lesson is not None
    lines, missing = on_sale([CheckoutItem(subject.pk, (lesson.pk,))])
    assert lines == []
    assert missing[0]["lesson_id"] == lesson.pk
    whole, missing = on_sale([CheckoutItem(subject.pk)])
    assert (len(whole), missing) == (1, [])


def test_sample_catalogue_keeps_the_promises_of_the_plans(settings):
    settings.DEBUG = True  # Without it the sample universities are not shown.
    seed_catalogue()
    single = Subject.objects.on_sale().filter(complete_only=False)
    assert 0 < single.count() < Subject.objects.on_sale().count()
    for subject in Subject.objects.on_sale().prefetch_related("lessons"):
        active = [row for row in subject.lessons.all() if row.status == Lesson.Status.ACTIVE]
        pecs = sum(row.kind == LessonKind.PEC for row in active)
        assert {row.price for row in active} == {55}
        assert subject.final_price >= 39 * pecs
        assert to_cents(subject.final_price) < sum(to_cents(row.price) for row in active)
        assert subject.videos_count > 0


def test_vat_is_included_only_where_every_subject_has_it(client):
    make_subject()
    exempt = make_subject("Álgebra", vat=Vat.EXEMPT)
    assert catalogue_vat_note() == "impuestos incluidos"
    page = client.get("/precios").content.decode()
    assert "Todos los precios son finales: impuestos incluidos." in page
    assert "IVA incluido" not in page
    assert '<meta name="vat-note" content="impuestos incluidos">' in page

    Subject.objects.update(vat=Vat.EXEMPT)
    assert catalogue_vat_note() == "exento de IVA"

    Subject.objects.exclude(pk=exempt.pk).update(vat=Vat.REDUCED)
    Subject.objects.filter(pk=exempt.pk).update(active=False)
    assert catalogue_vat_note() == "IVA incluido"

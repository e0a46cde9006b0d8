import pytest
from django.core.management import call_command

from apps.catalogue.models import Degree, Lesson, PriceChange, Subject, University
from apps.catalogue.seed import SUBJECTS
from apps.catalogue.seed_many import PER_UNIVERSITY, degree_name, subject_name, university_name
from apps.catalogue.services import refresh_counts

pytestmark = pytest.mark.django_db
MODELS = (University, Degree, Subject, Lesson, PriceChange)


def rows():
    return [list(model.objects.order_by("pk").values()) for model in MODELS]


@pytest.fixture
def seed(settings):
    def run(count):
        call_command("seed", sample=True, subjects=count)

    settings.DEBUG = False  # without the sample orders, which these tests do not need
    return run


def test_seed_adds_the_requested_number_and_can_be_repeated(seed, capsys):
    seed(300)
    assert Subject.objects.count() == 300
    assert capsys.readouterr().err == ""  # no progress bar without a terminal
    before = rows()

    seed(300)
    assert rows() == before
    seed(360)
    assert Subject.objects.count() == 360
    # The existing rows are unchanged.
    assert rows()[2][: len(before[2])] == [
        {**row} for row in rows()[2] if row["id"] <= before[2][-1]["id"]
    ]


def test_larger_seed_begins_with_the_same_subjects(seed):
    seed(200)
    few = list(Subject.objects.order_by("pk").values_list("degree__name", "name", "final_price"))
    seed(260)

    more = Subject.objects.order_by("pk").values_list("degree__name", "name", "final_price")
    assert list(more)[:200] == few


def test_seeded_rows_have_counts_names_and_price_history(seed):
    seed(300)
    before = rows()

    refresh_counts()

    assert rows() == before
    assert not University.objects.exclude(is_sample=True).exists()
    assert not Subject.objects.filter(name_sort="").exists()
    assert not Subject.objects.filter(name_search="").exists()
    assert PriceChange.objects.count() == Subject.objects.count() + Lesson.objects.count()
    assert PriceChange.objects.exclude(before=None).count() == 0
    for subject in Subject.objects.select_related("degree"):
        assert subject.university_id == subject.degree.university_id
    assert Subject.objects.filter(active_lessons_count=0).exists()
    assert Subject.objects.filter(active=False).exists()


def test_seed_does_not_change_rows_edited_by_staff(seed):
    seed(200)
    subject = Subject.objects.latest("pk")
    subject.final_price = 1
    subject.save()

    seed(200)

    assert Subject.objects.count() == 200
    assert Subject.objects.get(pk=subject.pk).final_price == 1


def test_names_of_a_large_seed_are_unique():
    names = [university_name(index) for index in range(300)]
    assert len({name.name for name in names}) == len({name.acronym for name in names}) == 300
    assert max(len(name.acronym) for name in names) <= 20
    assert len({degree_name(place) for place in range(40)}) == 40
    for degree in range(40):
        assert len({subject_name(degree, place) for place in range(50)}) == 50
    assert SUBJECTS < PER_UNIVERSITY


def test_spanish_articles_are_contracted():
    every = {subject_name(degree, place) for degree in range(40) for place in range(50)}

    assert "Introducción al comercio exterior" in every
    assert "Fundamentos de la microeconomía" in every
    assert not [name for name in every if " a el " in name or " de el " in name]

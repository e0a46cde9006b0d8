from decimal import Decimal

import pytest
from django.contrib.auth import get_user_model
from django.core.management import CommandError, call_command

from apps.catalogue.models import Degree, Lesson, PriceChange, Subject, University
from apps.core.models import Mail
from apps.leads.models import Lead
from apps.orders.models import Order, PromoUse
from apps.pages.initial_content import PLANS
from apps.pricing.models import Campaign, PromoCode

pytestmark = pytest.mark.django_db


@pytest.fixture
def developing(settings):
    settings.DEBUG = True


def rows():
    tables = (University, Degree, Subject, Lesson, PriceChange, Campaign, PromoCode, Order, Mail)
    return {table.__name__: table.objects.count() for table in tables}


@pytest.mark.usefixtures("developing")
def test_seed_creates_a_catalogue_of_the_documented_size():
    call_command("seed", verbosity=0)

    assert University.objects.filter(status=University.Status.OPEN).count() == 1
    assert University.objects.filter(status=University.Status.COMING_SOON).count() == 3
    assert list(Degree.objects.order_by("name_sort").values_list("name", flat=True)) == [
        "ADE",
        "Comunicación",
        "Derecho",
        "Economía",
        "Educación Social",
        "Logopedia",
        "Marketing",
        "Psicología",
        "Relaciones Laborales",
        "Turismo",
    ]
    assert Subject.objects.on_sale().count() >= 120
    assert {subject.lessons.count() for subject in Subject.objects.all()} == set(range(7))
    assert Lesson.objects.filter(status=Lesson.Status.EXPIRED).exists()
    assert Subject.objects.filter(active_lessons_count=0, lessons__isnull=False).exists()
    assert Subject.objects.filter(total_discounts__gt=0).exists()
    prices = set(Subject.objects.values_list("final_price", flat=True))
    assert len(prices) > 5
    assert (min(prices), max(prices)) == (Decimal("39.00"), Decimal("240.00"))
    assert PriceChange.objects.count() == Subject.objects.count() + Lesson.objects.count()


@pytest.mark.usefixtures("developing")
def test_sample_prices_keep_the_promises_of_the_plans():
    """A single PEC costs 55 €, a complete subject from 39 € per PEC and less than its lessons."""
    call_command("seed", verbosity=0)
    single, complete = (plan["price"] for plan in PLANS)

    for subject in Subject.objects.on_sale().prefetch_related("lessons"):
        active = [row for row in subject.lessons.all() if row.status == Lesson.Status.ACTIVE]
        pecs = [row for row in active if row.title.startswith("PEC")]
        assert {row.price for row in active} == {single}, subject
        assert subject.final_price >= complete * len(pecs), subject
        assert subject.final_price < sum(row.price for row in active), subject


@pytest.mark.usefixtures("developing")
def test_second_seed_adds_nothing():
    call_command("seed", verbosity=0)
    first = rows()
    call_command("seed", verbosity=0)

    assert rows() == first


@pytest.mark.usefixtures("developing")
def test_seed_keeps_changes_made_by_staff():
    call_command("seed", verbosity=0)
    subject = Subject.objects.get(name="Microeconomía")
    subject.final_price = Decimal("199.00")
    subject.save()
    Campaign.objects.filter(name="Agosto").update(percent=25)

    call_command("seed", verbosity=0)

    assert Subject.objects.get(name="Microeconomía").final_price == Decimal("199.00")
    assert Campaign.objects.get(name="Agosto").percent == 25


@pytest.mark.usefixtures("developing")
def test_sample_orders_are_placed_through_the_shop():
    call_command("seed", verbosity=0)

    assert sorted(Order.objects.values_list("status", flat=True)) == ["cart", "paid", "paying"]
    used = PromoUse.objects.get()
    assert (used.promo_code.code, used.status) == ("AGOTADO5", "used")
    assert used.promo_code.uses_taken == used.promo_code.max_uses == 1
    assert Order.objects.get(status="paying").instalments.count() == 3
    codes = PromoCode.objects.filter(is_referral_code=True)
    assert codes.get(code="AMIGA-ANA").student == used.order.student
    assert codes.exclude(code="AMIGA-ANA").get().student.email == "bruno.ejemplo@example.com"


def test_sample_orders_are_placed_if_the_favourite_subjects_have_no_single_lessons(settings):
    """Which subjects are the favourites depends on the sample trade, and so on the day."""
    settings.DEBUG = False
    call_command("seed", "--sample", verbosity=0)
    assert not Order.objects.exists()
    settings.DEBUG = True
    favourites = Subject.objects.on_sale().most_enrolled_first()[:6]
    Subject.objects.filter(pk__in=favourites.values("pk")).update(complete_only=True)

    call_command("seed", verbosity=0)

    assert Order.objects.count() == 3


@pytest.mark.usefixtures("developing")
def test_seed_keeps_the_password_of_an_existing_admin():
    get_user_model().objects.create_superuser("admin", password="otra-clave")

    call_command("seed", verbosity=0)

    assert get_user_model().objects.get().check_password("otra-clave")


@pytest.mark.usefixtures("developing")
def test_if_empty_skips_an_existing_catalogue():
    University.objects.create(name="Universidad propia", acronym="UP")

    call_command("seed", "--if-empty", verbosity=0)

    assert rows()["University"] == 1
    assert rows()["Subject"] == 0


def test_seed_is_refused_without_debug():
    with pytest.raises(CommandError, match="--sample") as refusal:
        call_command("seed", verbosity=0)

    assert "\n" not in str(refusal.value)
    assert rows()["University"] == 0


def test_seed_without_debug_adds_no_codes_orders_or_accounts(client):
    call_command("seed", "--sample", verbosity=0)

    assert Subject.objects.count() > 120
    assert client.get("/api/universities").json() == []
    assert client.get("/api/catalogue").json()["count"] == 0
    assert Campaign.objects.count() == 2
    assert not PromoCode.objects.exists()
    assert not Order.objects.exists()
    assert not get_user_model().objects.exists()


def test_trade_is_not_seeded_without_debug():
    call_command("seed", "--sample", "--trade", verbosity=0)

    assert not Order.objects.exists()
    assert not Lead.objects.exists()

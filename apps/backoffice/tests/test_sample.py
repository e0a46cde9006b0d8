"""The year of sample trade that `make run` begins with."""

from contextlib import suppress
from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db.models import Count, F, Q
from django.test import override_settings
from django.urls import reverse
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from apps.backoffice.reports.breakdowns import by_clerk, by_subject
from apps.backoffice.reports.figures import figures_of
from apps.backoffice.reports.movements import payouts
from apps.catalogue.models import PriceChange, Subject, University
from apps.classroom.models import Enrolment, Provisioning
from apps.classroom.progress import proof_of_use
from apps.core.mail.registry import NoLongerDue, render_mail
from apps.core.models import Mail
from apps.core.money import to_cents, to_euros
from apps.core.period import period_of, this_month, this_quarter
from apps.invoices.book.agreement import agreement_of
from apps.invoices.book.entries import entries_of, invoices_in, totals_of
from apps.invoices.expected import expected_cents
from apps.invoices.models import Invoice, PendingInvoice
from apps.invoices.snapshot import seller_is_known
from apps.leads.models import Lead, Withdrawal
from apps.orders.models import (
    Dispute,
    Gift,
    Instalment,
    Order,
    OrderLine,
    Payment,
    ReferralReward,
    Refund,
)
from apps.orders.plan.charging import charge_again
from apps.orders.reads import paid_without_access
from apps.pages.models import Opinion
from apps.pages.opinions.ratings import FEWEST_OF_A_SUBJECT, rating_of, site_rating
from apps.payments.audit import audit
from apps.payments.balance_copy import fetch_balance
from apps.payments.events.reconcile import reconcile
from apps.payments.models import BalanceEntry, Payout
from apps.payments.plan.charge_due import charge_instalments
from apps.payments.refunds.reconcile import reconcile_returns
from apps.pricing.models import PromoCode
from apps.students.models import Consent, Student
from tests.helpers.refunds import make_clerk, refund, refunded_at_provider
from tools.dev.sample_payments import store_in_sandbox

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _development(settings):
    settings.DEBUG = True
    settings.STRIPE_API_BASE = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def trade(module_transaction):
    with module_transaction.unblock(), override_settings(DEBUG=True):
        call_command("seed", "--trade", verbosity=0)


def statuses(model):
    return set(model.objects.values_list("status", flat=True))


@pytest.mark.usefixtures("trade")
def test_trade_shows_every_state_and_the_books_agree():
    assert audit(offline=True).differences == []
    assert seller_is_known(), "the shop could issue no invoice"
    assert statuses(Order) == set(Order.Status.values)
    assert statuses(Instalment) == set(Instalment.Status.values)
    assert statuses(Dispute) == {"open", "won", "lost"}
    assert statuses(Lead) == set(Lead.Status.values)
    assert statuses(ReferralReward) == {"held", "owed", "paid", "canceled"}
    assert statuses(Gift) == {"delivered", "waiting"}
    [waiting] = Withdrawal.objects.open()
    [used, unused] = proof_of_use(Provisioning.objects.get(order_id=waiting.order_id))
    assert "1 de 5 actividades hechas, última visita" in used
    assert "0 de 5 actividades hechas, todavía sin visitas" in unused
    case = Withdrawal.objects.get(status="refunded")
    assert case.order.paid_at < case.received_at < case.resolved_at
    assert Mail.objects.filter(status=Mail.Status.FAILED).count() == 2
    assert paid_without_access().filter(access_problem__gt="").count() == 1
    assert PriceChange.objects.filter(before__isnull=False).count() > 50
    # Stripe is asked about no sample payment: the problems are the lists of all refused cards and
    # of all charges.
    findings = reconcile()
    assert (findings.payments, findings.expired, findings.problems) == (0, 0, 2)


@pytest.mark.usefixtures("trade")
def test_each_tile_counts_the_same_on_every_day_and_as_its_list(client):
    client.force_login(get_user_model().objects.get(username="admin"))
    tiles = client.get(reverse("admin:index")).context["today"].tiles
    of_the_machine = {"Procesos parados", "Copia de seguridad atrasada"}
    waiting = {tile.label: tile.count for tile in tiles if tile.count}
    assert {label: waiting[label] for label in waiting.keys() - of_the_machine} == {
        # Ana's and Bruno's orders of today wait for the worker.
        "Pagados sin acceso": 3,
        "Plazos rechazados o vencidos": 2,
        "Pagos sin pedido": 1,
        "Disputas abiertas": 1,
        "Desistimientos": 1,
        "Notas para hoy": 1,
        # A payment twice, and an open and a lost dispute.
        "Pedidos con aviso": 3,
        "Solicitudes nuevas": 9,
        "Opiniones por revisar": 3,
        "Correos sin entregar": 2,
        "Peticiones de borrado": 1,
        "Recompensas por pagar": 2,
    }
    for tile in tiles:
        assert client.get(tile.url).context["cl"].result_count == tile.count, tile.label


@pytest.mark.usefixtures("trade")
def test_figures_of_cards_fit_those_of_the_home_page(client):
    assert ">+400<" in client.get("/").text
    university = University.objects.get(acronym="UAMED")
    assert 400 < university.students < 500
    assert (
        university.students_counted
        == Student.objects.filter(enrolments__isnull=False).distinct().count()
    )
    for degree in university.degrees.all():
        assert degree.students_count < university.students / 4
        for subject in degree.subjects.all():
            assert subject.enrolled_students_count <= degree.students_count


@pytest.mark.usefixtures("trade")
def test_trade_is_over_and_queues_nothing_for_workers():
    """Mails of the past are never sent. Only Ana's and Bruno's orders of today have tasks."""
    tasks = DBTaskResult.objects.filter(enqueued_at__lt=timezone.now() - timedelta(minutes=15))
    assert not tasks.exists()
    assert not Mail.objects.filter(status="queued").exclude(to__contains="ejemplo@").exists()


@pytest.mark.usefixtures("trade")
def test_trade_has_opinions_of_every_kind_and_too_few_to_rate_the_shop(client):
    assert statuses(Opinion) == set(Opinion.Status.values)
    assert site_rating() is None
    published = Subject.objects.filter(opinions__status="published")
    subject = published.annotate(count=Count("opinions")).order_by("-count")[0]
    assert rating_of(subject.opinions.all(), FEWEST_OF_A_SUBJECT).count == 4
    assert client.get(subject.page_path).text.count("Compra verificada") == 4
    home = client.get("/").text
    assert home.count("Compra verificada") == 3
    assert "128 reseñas" in home
    for opinion in Opinion.objects.exclude(answered_at=None).select_related("student"):
        bought = Enrolment.objects.filter(student=opinion.student, subject=opinion.subject)
        assert bought.filter(ends_on__lt=opinion.asked_at).exists()
        assert opinion.answered_at < timezone.now()


@pytest.mark.usefixtures("trade")
def test_sample_invoices_are_of_each_kind_and_their_numbers_ascend_with_the_days():
    assert {"F1", "R1", "R4"} == set(Invoice.objects.values_list("kind", flat=True))
    for series in ("F", "R"):
        rows = Invoice.objects.filter(series=series).order_by("year", "number")
        numbers = list(rows.values_list("issued_on", "year", "number"))
        assert numbers == sorted(numbers)
        for year in {year for _, year, _ in numbers}:
            found = [number for _, of, number in numbers if of == year]
            assert found == list(range(1, len(found) + 1)), "numbers have no gaps"
    assert not PendingInvoice.objects.exists()


@pytest.mark.usefixtures("trade", "sandbox")
def test_the_book_of_each_quarter_equals_invoices_report_and_balance(settings):
    store_in_sandbox(settings.STRIPE_API_BASE)
    fetch_balance()

    quarter, in_books, was_replaced = this_quarter(), 0, 0
    for _ in range(5):  # The year of trade reaches into five quarters.
        invoices = invoices_in(quarter)
        lines = [entry.line for entry in entries_of(invoices)]
        totals = totals_of(invoices)
        total = sum(line.total for line in totals)
        assert total == sum(line.total for line in lines)
        # Its invoices: what each adds, less what those in it replace.
        replaced = Invoice.objects.filter(
            Q(replaced_by__in=invoices) | Q(root__replaced_by__in=invoices)
        )
        assert total == _cents(invoices) - _cents(replaced)
        tax = sum(row.tax_cents for row in invoices) - sum(row.tax_cents for row in replaced)
        assert sum(line.tax for line in totals) == tax
        # Its report: the three months, as "Informes" shows them.
        of_months = months_of(quarter)
        months = [figures_of(month) for month in of_months]
        found = agreement_of(quarter, invoiced=total)
        assert found.taken == sum(each.gross_cents for each in months)
        returned = sum(each.refunds_cents + each.refunds_elsewhere_cents for each in months)
        assert found.returned == returned
        assert found.unexplained == 0
        assert total == found.net - found.uninvoiced - found.other_period
        # Its balance at Stripe: what moved there, and what moved elsewhere.
        at_stripe = sum(row.stripe_cents for each in months for row in each.comparisons[:2])
        elsewhere = sum(each.elsewhere.cents - each.refunds_elsewhere_cents for each in months)
        assert found.net == at_stripe + elsewhere
        # Each kind of report of the quarter: the sum of its months, by subject and by clerk.
        of_quarter = figures_of(quarter)
        assert of_quarter.gross_cents == found.taken
        assert of_quarter.net_cents == sum(each.net_cents for each in months)
        assert numbers_of(by_subject, quarter) == add_up(by_subject, of_months)
        *_, taken, given_back, net = by_subject(quarter).total
        assert (taken, given_back) == (to_euros(found.taken), to_euros(found.returned))
        assert net == to_euros(found.net)
        assert numbers_of(by_clerk, quarter) == add_up(by_clerk, of_months)
        assert by_clerk(quarter).total[-1] == to_euros(found.returned)
        in_books += total
        was_replaced += replaced.count()
        quarter = quarter.before
    assert in_books == _cents(Invoice.objects.in_force()) > 0
    assert was_replaced == 2
    # Each invoiced order: its invoices in force are what its buyer owes.
    for order in Order.objects.filter(invoices__isnull=False).distinct():
        assert _cents(order.invoices.in_force()) == expected_cents(order)


def months_of(quarter):
    first = period_of(f"{quarter.first:%Y-%m}")
    return (first, first.next, first.next.next)


def numbers_of(read, period):
    """The numbers of each row of the table, by its texts."""
    table = read(period)
    texts = 3 if read is by_subject else 1
    return {row[:texts]: row[texts:] for row in table.rows if any(row[texts:])}


def add_up(read, periods):
    sums = {}
    for period in periods:
        for texts, numbers in numbers_of(read, period).items():
            before = sums.get(texts, (0,) * len(numbers))
            sums[texts] = tuple(map(sum, zip(before, numbers, strict=True)))
    return {texts: numbers for texts, numbers in sums.items() if any(numbers)}


def _cents(invoices):
    return sum(row.total_cents for row in invoices)


@pytest.mark.usefixtures("trade", "sandbox")
def test_the_balance_fetched_from_the_sandbox_fits_the_payments_of_each_month(settings, caplog):
    stored = store_in_sandbox(settings.STRIPE_API_BASE)
    fetch_balance()

    month = this_month()
    for age in range(12):
        figures = figures_of(month)
        if age:  # The month of today may have just begun.
            assert figures.gross_cents > 0
            assert figures.fees_cents > 0
        assert [row.difference_cents for row in figures.comparisons] == [0, 0, 0]
        assert all(row[-1] == 0 for row in payouts(month))
        assert figures.unmatched.cents == 0
        month = month.before
    assert Payment.objects.get(of_other_shop=True).amount == 228
    assert Payout.objects.count() > 45
    assert statuses(Payout) == {"paid"}
    # Stripe knows the disputes, too: none of them is missing there.
    assert reconcile_returns().summary() == ""
    assert "resource_missing" not in caplog.text
    # A second start of the shop stores nothing twice.
    assert stored["payments"] > 150
    assert stored["saved_cards"] > 10
    assert store_in_sandbox(settings.STRIPE_API_BASE) == {"payments": 0, "saved_cards": 0}
    assert fetch_balance() == ""


@pytest.mark.usefixtures("trade")
def test_trade_has_renewals_and_whole_subjects_for_the_rest_of_their_price():
    renewals = Order.objects.filter(by_staff__renewal=True).select_related("student")
    assert {order.status for order in renewals} == {Order.Status.PAID}
    for order in renewals:
        [first, again] = order.student.orders.order_by("pk")
        assert again == order
        [whole] = first.lines.values_list("subject", "lesson")
        assert [whole] == list(again.lines.values_list("subject", "lesson"))
        on_that_day = to_cents(again.by_staff.agreed + again.by_staff.discount)
        assert again.total_cents == (on_that_day * 66 + 49) // 100
        before, after = (
            Provisioning.objects.get(order_id=pk).ends_on for pk in (first.pk, again.pk)
        )
        assert before < after == order.student.enrolments.get().ends_on
        assert Mail.objects.filter(template="renewal", to=order.email, status="sent").exists()
    rest = OrderLine.objects.filter(credit__gt=0).select_related("order")
    for line in rest:
        [lesson] = line.order.student.orders.order_by("pk")[0].lines.all()
        assert (lesson.subject, line.lesson) == (line.subject, None)
        # The one line of the order: the whole less what was paid for the lesson.
        assert line.credit == lesson.order.total_amount
        assert line.order.status == Order.Status.PAID
    assert (len(renewals), len(rest)) == (2, 2)


@pytest.mark.usefixtures("trade")
def test_second_seed_of_trade_adds_nothing():
    before = (Order.objects.count(), Mail.objects.count(), PromoCode.objects.count())

    call_command("seed", "--trade", verbosity=0)

    assert (Order.objects.count(), Mail.objects.count(), PromoCode.objects.count()) == before


@pytest.mark.usefixtures("trade")
def test_trade_is_as_the_shop_would_have_written_it():
    now = timezone.now()
    oldest, newest = Order.objects.order_by("pk").first(), Order.objects.order_by("-pk").first()
    assert now - timedelta(days=366) < oldest.created_at < now - timedelta(days=340)
    assert newest.created_at <= timezone.now()
    assert not Payment.objects.filter(succeeded_at__gt=timezone.now()).exists()
    due = Instalment.objects.filter(status="due", charge_on__lt=timezone.localdate())
    assert not due.exists()
    # Each order has its consents, and each last price change leads to the price of today.
    consented = set(Consent.objects.values_list("order_id", flat=True))
    assert consented == set(Order.objects.values_list("pk", flat=True))
    for subject in Subject.objects.prefetch_related("price_changes"):
        assert subject.price_changes.first().after == subject.final_price
    counted = Subject.objects.annotate(students=Count("enrolments__student", distinct=True))
    assert not counted.exclude(enrolled_counted=F("students")).exists()
    assert Enrolment.objects.exists()
    for template in set(Mail.objects.values_list("template", flat=True)):
        mail = Mail.objects.filter(template=template).order_by("-pk").first()
        with suppress(NoLongerDue):
            assert render_mail(mail.template, mail.context, reveal=True).subject


@pytest.mark.usefixtures("trade")
def test_sandbox_refunds_sample_orders_and_charges_their_plans(settings, sandbox):
    store_in_sandbox(settings.STRIPE_API_BASE)
    fetch_balance()
    order = Order.objects.filter(status=Order.Status.PARTIALLY_REFUNDED).first()
    [payment] = order.payments.all()
    [earlier] = payment.refunds.all()
    late = Instalment.objects.filter(status=Instalment.Status.FAILED).first()

    [made] = refund(order, make_clerk())
    assert charge_again(instalment_id=late.pk, actor="carla")
    charged = charge_instalments()

    assert made.status == Refund.Status.SUCCEEDED
    assert refunded_at_provider(sandbox, order) == [earlier.amount_cents, made.amount_cents]
    assert earlier.amount_cents + made.amount_cents == to_cents(payment.amount)
    assert order.status == Order.Status.REFUNDED
    late.refresh_from_db()
    assert late.status == Instalment.Status.PAID
    assert (charged.refused, charged.problems) == (0, 0)
    # The books, Stripe and the copy of its balance still agree, with nothing counted twice.
    movements = BalanceEntry.objects.count()
    fetch_balance()
    assert BalanceEntry.objects.count() == movements + charged.charged + 1
    # The payment that matches no order may be any shop's.
    result = audit(recording_time=timedelta())
    assert (result.differences, result.unanswered, result.of_other_shops) == ([], 0, 1)
    findings = reconcile(recording_time=timedelta())
    assert (findings.payments, findings.without_order, findings.problems) == (0, 0, 0)
    assert reconcile_returns().summary() == ""
    assert [row.difference_cents for row in figures_of(this_month()).comparisons] == [0, 0, 0]

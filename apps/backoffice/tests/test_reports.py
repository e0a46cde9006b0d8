"""The month's report: it equals Stripe's balance, and the export adds up to its payouts."""

import io
from datetime import datetime, timedelta
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.utils import timezone
from openpyxl import load_workbook

from apps.backoffice.reports import movements as report_movements
from apps.backoffice.reports.breakdowns import by_clerk, by_subject, by_use
from apps.backoffice.reports.figures import figures_of
from apps.backoffice.reports.movements import movements, payouts
from apps.backoffice.reports.trends import carts_chart
from apps.backoffice.today.stored_takings import takings_by_day
from apps.classroom.models import Progress
from apps.classroom.provisioning import grant_access, provision
from apps.core.dates import today
from apps.core.models import SiteSettings, StaffAction
from apps.core.period import period_of, this_month
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Dispute, Order, Payment, Refund
from apps.orders.refunds.disputes import ReportedDispute, record_dispute
from apps.orders.refunds.sent_back_by_bank import record_paid_by_other_means
from apps.orders.settlement.mark_paid import mark_paid
from apps.payments import balance_copy
from apps.payments.balance_copy import fetch_balance
from apps.payments.events.handlers import HANDLERS
from apps.payments.models import BalanceEntry, Payout
from apps.payments.stripe.client import ProviderError
from apps.students.models import Student
from apps.students.services import find_or_create_student
from tests.helpers.admin import count_queries
from tests.helpers.factories import make_subject
from tests.helpers.one_of_everything import make_one_of_everything
from tests.helpers.query_plans import bounded_reads, earlier, multiply
from tests.helpers.refunds import buy, make_clerk, refund
from tests.helpers.shop import SUCCESS

pytestmark = pytest.mark.django_db
MADRID = ZoneInfo("Europe/Madrid")


@pytest.fixture
def trade(api, sandbox):
    """Two purchases of 182.40 €, one refunded in part, a dispute, and a payout."""
    clerk = make_clerk()
    first = buy(api, sandbox, make_subject("Álgebra"))
    second = buy(api, sandbox, make_subject("Cálculo"), email="otra@example.com")
    refund(first, clerk, 5000)
    sandbox.process.control("POST", "payouts", {})
    return first, second


def make_payment(at, cents, reference, *, kind="card", currency="eur", **fields):
    student, _ = Student.objects.get_or_create(email="ana@example.com")
    amount = Decimal(cents) / 100
    order = Order.objects.create(
        student=student, email=student.email, phone="+34600111222", total_amount=amount,
        payment_type="full_payment", status=Order.Status.PAID, paid_at=at, **fields,
    )  # fmt: skip
    return Payment.objects.create(
        order=order, reference=reference, amount=amount, status="succeeded", succeeded_at=at,
        kind=kind, currency=currency,
    )  # fmt: skip


def test_the_report_of_a_month_equals_the_balance_of_stripe(trade, sandbox):
    assert fetch_balance() == "movimientos nuevos: 4"
    figures = figures_of(this_month())

    # 1.5 % of 182.40 € is 2.74 €, and 25 cents, twice.
    assert (figures.gross_cents, figures.refunds_cents, figures.fees_cents) == (36480, 5000, 598)
    assert [row.difference_cents for row in figures.comparisons] == [0, 0, 0]
    balance = sandbox.process.client().v1.balance_transactions.list({"limit": 100}).data
    assert figures.net_cents == sum(row.net for row in balance if row.type != "payout")
    assert figures.payouts_cents == figures.net_cents == 30882


def test_movements_and_payouts_add_up_to_the_cent(trade):
    fetch_balance()
    *lines, total = movements(this_month())

    assert [line[1] for line in lines].count("Cobro") == 2
    assert {line[2] for line in lines if line[1] == "Cobro"} == {str(o.pk) for o in trade}
    assert total[5:8] == (Decimal("314.80"), Decimal("-5.98"), Decimal("308.82"))
    [payout] = payouts(this_month())
    assert payout[4:] == (Decimal("308.82"), Decimal("308.82"), Decimal(0))


def test_money_of_another_shop_on_the_account_is_in_no_figure(trade, sandbox):
    fetch_balance()
    before = figures_of(this_month())
    exported = list(movements(this_month()))
    stripe = sandbox.process.client().v1
    paid = stripe.payment_intents.create(
        {
            "amount": 7700,
            "currency": "eur",
            "payment_method": sandbox.process.new_card(SUCCESS).id,
            "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
            "metadata": {"order_id": str(trade[0].pk)},
            "confirm": True,
        }
    )
    fetch_balance()
    assert HANDLERS["payment_intent.succeeded"]({"data": {"object": {"id": paid.id}}})
    stripe.refunds.create({"payment_intent": paid.id, "amount": 700})
    fetch_balance()

    after = figures_of(this_month())

    assert BalanceEntry.objects.filter(of_other_shop=True).count() == 2
    assert Payment.objects.get(reference=paid.id).of_other_shop
    assert (after.gross_cents, after.net_cents) == (before.gross_cents, before.net_cents)
    assert after.comparisons == before.comparisons
    assert list(movements(this_month())) == exported


def test_movements_are_fetched_once_and_disputes_reduce_the_net(trade, sandbox):
    fetch_balance()
    assert fetch_balance() == ""
    reference = trade[1].payments.get().reference
    sandbox.process.control("POST", "disputes", {"payment_intent": reference})

    assert fetch_balance() == "movimientos nuevos: 1"
    figures = figures_of(this_month())
    disputes = figures.comparisons[2]
    assert disputes.stripe_cents == -18240
    # The shop learns of the dispute later, by its event.
    assert disputes.difference_cents == 18240
    assert figures.fees_cents == 598 + 2000


def test_a_month_begins_and_ends_at_midnight_in_madrid():
    for moment, reference in (
        (datetime(2026, 9, 30, 23, 59, 59, tzinfo=MADRID), "pi_september"),
        (datetime(2026, 10, 1, tzinfo=MADRID), "pi_first"),
        (datetime(2026, 10, 31, 23, 59, 59, tzinfo=MADRID), "pi_last"),
        (datetime(2026, 11, 1, tzinfo=MADRID), "pi_november"),
    ):
        make_payment(moment, 1000, reference)
    figures = figures_of(period_of("2026-10"))
    assert (figures.gross_cents, figures.stripe.count) == (2000, 2)


def test_refunds_and_disputes_in_another_currency_are_no_euros(owner):
    at = datetime(2026, 10, 5, 12, tzinfo=MADRID)
    for payment, amount in (
        (make_payment(at, 9000, "pi_euros"), 10),
        (make_payment(at, 400_000, "pi_pesos", currency="cop"), 3000),
    ):
        Refund.objects.create(
            payment=payment, batch="b", amount=amount, reason="Error", actor="carla",
            status="succeeded", reference=f"re_{amount}", created_at=at,
        )  # fmt: skip
        Dispute.objects.create(
            payment=payment, reference=f"du_{amount}", amount=amount, status="open", withdrawn_at=at
        )
    figures = figures_of(period_of("2026-10"))

    assert (figures.gross_cents, figures.refunds_cents) == (9000, 1000)
    assert (figures.disputes_cents, figures.foreign_count) == (1000, 3)
    next_day = at.date() + timezone.timedelta(days=1)
    assert takings_by_day(at.date(), next_day)[at.date()].net_cents == 8000
    page = owner.get("/admin/informes?periodo=2026-10").content.decode()
    assert "Sin contar, por estar en otra moneda: 3 movimientos" in page


def test_payment_recorded_after_midnight_counts_in_the_month_of_its_success():
    """Charged on 31 August at 23:59 in Madrid, and reported on 1 September."""
    success = datetime(2026, 8, 31, 23, 59, tzinfo=MADRID)
    order = make_payment(success, 9000, "pi_other").order
    order.status, order.paid_at = "cart", None
    order.payments.all().delete()
    order.save()
    payment = ConfirmedPayment("pi_midnight", 9000, succeeded_at=success)
    with time_machine.travel(datetime(2026, 9, 1, 0, 1, tzinfo=MADRID), tick=False):
        mark_paid(order_id=order.pk, payment=payment, actor="Stripe")

    assert figures_of(period_of("2026-08")).gross_cents == 9000
    assert figures_of(period_of("2026-09")).gross_cents == 0
    order.refresh_from_db()
    assert order.paid_at == success


def test_payments_and_refunds_without_stripe_have_their_own_lines():
    at = datetime(2026, 10, 5, 12, tzinfo=MADRID)
    make_payment(at, 0, "one", kind="free")
    paid = make_payment(at, 9000, "two", kind="transfer")
    by_card = make_payment(at, 5000, "pi_1")
    for payment, amount, status in ((paid, 6, "succeeded"), (by_card, 4, "outside")):
        Refund.objects.create(
            payment=payment, batch="b", amount=amount, reason="Error", actor="carla",
            status=status, reference=f"re_{amount}", created_at=at, settled_at=at,
            sent_back_at=at if status == "outside" else None,
        )  # fmt: skip
    figures = figures_of(period_of("2026-10"))

    assert (figures.stripe.cents, figures.elsewhere.cents) == (5000, 9000)
    assert (figures.refunds_cents, figures.refunds_elsewhere_cents) == (0, 1000)
    assert figures.net_cents == 13000
    charge, *back, total = movements(period_of("2026-10"))
    assert (charge[1], charge[2]) == ("Cobro sin Stripe", str(paid.order_id))
    assert [(row[1], row[5]) for row in back] == [
        ("Devolución sin Stripe", Decimal("-6.00")),
        ("Devolución sin Stripe", Decimal("-4.00")),
    ]
    assert total[7] == Decimal("80.00")


def test_refund_that_the_bank_sends_back_leaves_its_month_unchanged():
    october, november = period_of("2026-10"), period_of("2026-11")
    payment = make_payment(october.start, 9000, "pi_1")
    row = Refund.objects.create(
        payment=payment, batch="b", amount=60, reason="Error", actor="carla", status="failed",
        reference="re_1", created_at=october.start, sent_back_at=november.start,
    )  # fmt: skip
    # Stripe rejected this one at once: no money moved.
    Refund.objects.create(
        payment=payment, batch="c", amount=5, reason="Error", actor="carla", status="failed",
        created_at=october.start,
    )  # fmt: skip
    assert figures_of(october).refunds_cents == 6000
    assert figures_of(november).refunds_cents == -6000

    with time_machine.travel(datetime(2026, 12, 2, 12, tzinfo=MADRID)):
        record_paid_by_other_means([row.pk], actor="carla")

    assert [
        (figures.refunds_cents, figures.refunds_elsewhere_cents)
        for figures in map(figures_of, (october, november, november.next))
    ] == [(6000, 0), (-6000, 0), (0, 6000)]


def test_inquiries_move_no_money_until_they_are_disputes():
    october, november = period_of("2026-10"), period_of("2026-11")
    payment = make_payment(october.start, 9000, "pi_1")

    def report(status, *, takes_money):
        news = ReportedDispute("du_1", 9000, status, "fraude", october.start, None, takes_money)
        return record_dispute(payment_id=payment.pk, report=news, provider="Stripe")

    assert report(Dispute.Status.OPEN, takes_money=False)
    assert figures_of(october).disputes_cents == 0
    with time_machine.travel(datetime(2026, 11, 2, 12, tzinfo=MADRID)):
        assert report(Dispute.Status.OPEN, takes_money=True)
        assert not report(Dispute.Status.OPEN, takes_money=True)
    assert (figures_of(october).disputes_cents, figures_of(november).disputes_cents) == (0, 9000)

    other = make_payment(october.start, 5000, "pi_2")
    news = ReportedDispute("du_2", 5000, Dispute.Status.WON, "", october.start, None, False)
    record_dispute(payment_id=other.pk, report=news, provider="Stripe")
    assert figures_of(this_month()).disputes_cents == (9000 if this_month() == november else 0)


def test_payouts_that_failed_or_are_in_another_currency_do_not_count():
    month = period_of("2026-10")
    for number, (status, currency) in enumerate(
        [("paid", "eur"), ("failed", "eur"), ("canceled", "eur"), ("paid", "usd")]
    ):
        Payout.objects.create(
            reference=f"po_{number}", amount_cents=1000, currency=currency, status=status,
            arrives_on=month.first, created_at=month.start,
        )  # fmt: skip
    assert figures_of(month).payouts_cents == 1000
    assert [row[0] for row in payouts(month)] == ["po_0"]


def test_interrupted_fetch_stores_nothing_and_is_fetched_again(trade, monkeypatch):
    def interrupt(reference):
        raise ProviderError

    with monkeypatch.context() as patch:
        patch.setattr(balance_copy, "ids_of_payout_parts", interrupt)
        with pytest.raises(ProviderError):
            fetch_balance()
    assert not BalanceEntry.objects.exists()
    assert not Payout.objects.exists()

    fetch_balance()
    assert not BalanceEntry.objects.filter(payout=None).exists()


def test_disputes_are_named_without_a_sign(owner):
    payment = make_payment(timezone.now(), 9000, "pi_1")
    case = Dispute.objects.create(
        payment=payment, reference="du_1", amount=90, status="open", withdrawn_at=timezone.now()
    )
    assert "retenidos por disputas" in owner.get("/admin/informes").content.decode()
    case.status, case.closed_at = "won", timezone.now()
    case.save()
    assert "retenidos por disputas y recuperados" in owner.get("/admin/informes").text
    case.withdrawn_at -= timezone.timedelta(days=90)
    case.status, case.closed_at = "won", timezone.now()
    case.save()
    page = owner.get("/admin/informes").content.decode().replace("\N{NO-BREAK SPACE}", " ")
    assert "y 90,00 € recuperados de disputas" in page


def test_charts_have_their_numbers_as_text_beside_those_of_the_year_before(owner):
    assert '<svg class="chart"' not in owner.get("/admin/informes").content.decode()
    for day, cents, kind in (
        (datetime(2026, 10, 5, 0, 0, tzinfo=MADRID), 10000, "card"),
        (datetime(2025, 10, 6, 12, tzinfo=MADRID), 8000, "card"),
        (datetime(2025, 11, 30, 23, 59, tzinfo=MADRID), 2500, "transfer"),
        (datetime(2024, 10, 31, 23, 59, tzinfo=MADRID), 90000, "card"),
    ):
        make_payment(day, cents, f"pi_{cents}", kind=kind)

    answer = owner.get("/admin/informes?periodo=2026-10")

    months, weeks = answer.context["charts"]
    shown = {place.url: place.numbers for place in months.places if any(place.numbers)}
    assert shown == {"2025-11": (2500, 0), "2026-10": (10000, 8000)}
    # Monday, 6 October 2025 was 52 weeks before Monday, 5 October 2026.
    shown = {place.url: place.numbers for place in weeks.places if any(place.numbers)}
    assert shown == {"2026-10-05_2026-10-11": (10000, 8000)}
    assert [bar.height for bar in months.bars if bar.height] == [27.5, 110, 88]
    page = " ".join(answer.content.decode().replace("\N{NO-BREAK SPACE}", " ").split())
    assert "Lo más alto: octubre de 2026, con 100,00 €." in page
    cells = "<td>100,00 €</td><td>80,00 €</td><td>+25 %</td>"
    assert f'<a href="?periodo=2026-10">Octubre de 2026</a></th>{cells}' in page


def test_chart_of_carts_shows_which_were_paid_and_none_of_weeks_whose_carts_are_deleted():
    at = timezone.now()
    paid = make_payment(at, 100, "pi_1").order
    cart = make_payment(at, 100, "pi_2").order
    Order.objects.filter(pk=cart.pk).update(status="cart", paid_at=None)
    Order.objects.filter(pk=paid.pk).update(status="refunded")

    *_, week = carts_chart(today()).places

    assert (week.numbers, week.note) == ((1, 2), "50 %")
    assert carts_chart(today() - timedelta(days=14)) is None


def test_money_is_counted_by_the_subject_and_the_clerk_that_it_belongs_to(api, sandbox, owner):
    clerk = make_clerk()
    algebra, calculo = make_subject("Álgebra"), make_subject("Cálculo", price="96.00")
    both = buy(api, sandbox, algebra, calculo, total="258.60")
    refund(both, clerk, 5000, line_ids=[both.lines.get(subject=calculo).pk])
    refund(both, clerk, 3000)
    make_payment(timezone.now(), 1000, "pi_unmatched")
    Payment.objects.filter(reference="pi_unmatched").update(order=None)

    found = {row[0]: row[3:] for row in by_subject(this_month()).rows}

    def euros(*amounts):
        return tuple(Decimal(amount) for amount in amounts)

    # 258.60 € of two subjects of 192 € and 96 €: two thirds and one third, as 30 € of the refunds.
    assert found["Álgebra"] == (1, *euros("192.00", "172.40", "20.00", "152.40"))
    assert found["Cálculo"] == (1, *euros("96.00", "86.20", "60.00", "26.20"))
    assert found["Sin asignatura"] == (0, *euros("0.00", "10.00", "0.00", "10.00"))
    figures = figures_of(this_month())
    *_, net = by_subject(this_month()).total
    assert net * 100 == figures.gross_cents - figures.refunds_cents
    [(actor, *numbers)] = by_clerk(this_month()).rows
    assert (actor, *numbers) == ("carla", 0, *euros("0"), 0, *euros("0"), 2, *euros("80.00"))

    page = owner.get("/admin/informes/asignaturas").content.decode()
    assert "152,40" in page
    text = owner.get(f"/admin/informes/asignaturas/{this_month()}.csv").content.decode()
    assert '"152,40"' in text
    text = owner.get(f"/admin/informes/equipo/{this_month()}.csv").content.decode()
    assert '"carla"' in text


def test_use_is_counted_by_what_was_opened_and_only_while_it_is_fetched(owner):
    algebra, calculo = make_subject("Álgebra"), make_subject("Cálculo")
    lesson = calculo.lessons.first()
    ana, eva = (
        find_or_create_student(email=f"{name}@example.com", phone="+34600111112", first_name=name)
        for name in ("ana", "eva")
    )
    for number, (student, items) in enumerate(
        ((ana, [(algebra.pk, None), (calculo.pk, lesson.pk)]), (eva, [(algebra.pk, None)])), 1
    ):
        grant_access(student=student, items=items, order_id=number)
        provision.func(order_id=number)
    now = timezone.now()
    Progress.objects.create(student=ana, subject=algebra, last_access_at=now, measured_at=now)
    Progress.objects.create(student=eva, subject=algebra, measured_at=now)

    found = {row[:2]: row[2:] for row in by_use(this_month()).rows}
    assert found == {("Álgebra", ""): (2, 0, 1, 1), ("Cálculo", lesson.title): (1, 1, 0, 0)}
    assert "Lo que nadie abre" not in owner.get("/admin/informes").content.decode()
    SiteSettings.current()
    SiteSettings.objects.update(classroom_progress=True)
    assert "Lo que nadie abre" in owner.get("/admin/informes").content.decode()
    assert "Álgebra" in owner.get("/admin/informes/uso").content.decode()


def test_report_of_too_many_movements_is_neither_shown_nor_downloaded(owner, monkeypatch):
    monkeypatch.setattr(report_movements, "MOST_ROWS", 1)
    make_payment(timezone.now(), 100, "pi_1")
    address = f"/admin/informes/equipo/{this_month()}.csv"
    assert owner.get(address).status_code == 200
    make_payment(timezone.now(), 100, "pi_2")
    assert owner.get(address).status_code == 302
    assert "Son demasiados movimientos" in owner.get("/admin/informes/asignaturas").content.decode()


def test_the_page_takes_at_most_thirteen_queries(owner, trade):
    fetch_balance()
    assert count_queries(owner, "/admin/informes") <= 13
    page = owner.get("/admin/informes").content.decode().replace("\N{NO-BREAK SPACE}", " ")
    for shown in ("364,80 €", "5,98 €", "308,82 €", "Álgebra", "Pago completo"):
        assert shown in page


@pytest.mark.parametrize(
    "month", ["", "abc", "2026-13", "1999-01", "2026-11-01", "²026-11", "2026-01-01_2027-01-02"]
)
def test_unknown_or_too_long_period_shows_the_present_month(owner, month):
    answer = owner.get("/admin/informes", {"periodo": month})
    assert answer.context["period"] == this_month()
    assert owner.get(f"/admin/informes/{month or 'x'}.csv").status_code == 404


def test_the_exports_are_logged_and_safe_for_spreadsheets(owner):
    BalanceEntry.objects.create(
        reference="=cmd()", kind="+fee", amount_cents=-150, fee_cents=0, net_cents=-150,
        currency="eur", created_at=datetime(2026, 10, 5, 12, tzinfo=MADRID),
    )  # fmt: skip
    text = owner.get("/admin/informes/2026-10.csv").content.decode("utf-8-sig")
    assert '"\'=cmd()"' in text
    assert '"\'+fee"' in text
    assert '"-1,50"' in text
    book = load_workbook(io.BytesIO(owner.get("/admin/informes/2026-10.xlsx").content))
    row = [cell.value for cell in book["Movimientos"][2]]
    assert (row[3], row[5]) == ("'=cmd()", -1.5)
    assert [entry.change_message for entry in LogEntry.objects.order_by("pk")] == [
        "Movimientos de 2026-10 exportados (csv)",
        "Movimientos de 2026-10 exportados (xlsx)",
    ]
    assert {entry.kind for entry in StaffAction.objects.all()} == {"exported"}


def test_an_export_asks_for_the_password_again_after_15_minutes(owner):
    with time_machine.travel(timezone.now() + timezone.timedelta(minutes=20)):
        answer = owner.get("/admin/informes/2026-10.csv")
    assert answer.status_code == 302
    assert "/admin/clave" in answer["Location"]


def test_stripe_is_asked_on_request_and_may_be_silent(owner, trade, sandbox):
    answer = owner.post("/admin/informes?periodo=2026-10", follow=True)
    assert "movimientos nuevos: 4" in answer.content.decode()
    sandbox.process.fault(calls="GET /v1/balance_transactions", do="error_500")
    answer = owner.post("/admin/informes", follow=True)
    assert "Stripe no contesta" in answer.content.decode()
    sandbox.process.control("DELETE", "faults")


@pytest.mark.postgres
def test_the_page_reads_only_the_rows_of_its_month(owner):
    """20,000 orders, one every six hours: a month has at most 124, two years have 2,924."""
    many, ago = 20_000, earlier("6 hours")
    order = make_one_of_everything()
    orders = multiply(
        order, many, created_at=ago, paid_at=ago, idempotency_id="gen_random_uuid()",
    )  # fmt: skip
    for row in (order.lines.first(), order.discounts.first()):
        multiply(row, many, order_id=f"{orders} + n")
    payments = multiply(
        order.payments.first(), many, reference="'pi_many' || n", order_id=f"{orders} + n",
        succeeded_at=ago, created_at=ago,
    )  # fmt: skip
    multiply(order.instalments.first(), many, order_id=f"{orders} + n", due_on=f"({ago})::date")
    multiply(
        Refund.objects.first(), many, payment_id=f"{payments} + n", created_at=ago,
        reference="'re_many' || n", batch="'b' || n", key_id="gen_random_uuid()",
    )  # fmt: skip
    entry = BalanceEntry.objects.create(
        reference="txn_0", kind="charge", amount_cents=100, fee_cents=30, net_cents=70,
        currency="eur", created_at=timezone.now(),
    )  # fmt: skip
    multiply(entry, many, reference="'txn_many' || n", created_at=ago)

    # The charts add up the payments of two years from an index alone.
    with bounded_reads(rows=3000, at_most=13):
        assert owner.get("/admin/informes").status_code == 200

"""What buyers, their bank and the staff of the sample shop do, through the shop's services.

Written directly, because a service would leave this machine or does not exist:
- mails are marked as sent, and the tasks of the past are deleted (`close`): nobody gets a mail;
- the customer of a plan, of Bizum and of PayPal, and the card, which Stripe would have created;
- a mail that bounced and an access that failed (`cases`), which other servers would refuse.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from itertools import count
from typing import Any
from uuid import uuid4

from django.db.models import F
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from apps.backoffice.sample.clock import clock_at, local
from apps.backoffice.sample.words import person
from apps.catalogue.models import Subject
from apps.classroom.models import AccessChange
from apps.classroom.provisioning import provision
from apps.classroom.sync import sync_classroom
from apps.core.models import Mail
from apps.core.money import to_cents
from apps.invoices.billing import correct_recipient, give_details
from apps.invoices.issue import bring_up_to_date
from apps.invoices.models import Invoice, PendingInvoice
from apps.orders.checkout.place import place
from apps.orders.checkout.request import Checkout
from apps.orders.gifts.details import GiftDetails
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Instalment, Order, Refund
from apps.orders.models.statuses import DisputeStatus, PaymentKind, RefundStatus, RefusalKind
from apps.orders.offer.cart import CheckoutItem, items_of
from apps.orders.offer.offer import Asked, offer_for
from apps.orders.plan.by_hand import begin_by_hand
from apps.orders.plan.charging import begin_charge, claim
from apps.orders.plan.notices import NOTICE_DAYS, send_notice
from apps.orders.plan.outcomes import mark_instalments_paid
from apps.orders.plan.refusals import record_refusal
from apps.orders.plan.schedule import first_payment_cents
from apps.orders.refunds.available import refundable_cents
from apps.orders.refunds.disputes import ReportedDispute, record_dispute
from apps.orders.refunds.effects import RefundRequest
from apps.orders.refunds.record import ReportedRefund, record_refunds
from apps.orders.refunds.request import request_refund
from apps.orders.renewals.renewals import open_order, renewal_link
from apps.orders.settlement.mark_paid import complete_free, mark_paid
from apps.payments.plan.charge_due import RUNNER
from apps.payments.refunds.at_stripe import PROVIDER
from apps.payments.stripe.refunds import DISPUTE_REASONS
from apps.pricing.payment_type import PaymentType
from apps.students.models import Consent, Student

# A part of all names that Stripe would have given.
REFERENCE = "ejemplo"
CARD = "Visa terminada en 4242"
CHARGED_AT = (6, 10)
# The letter of a Spanish NIF, by the remainder of its number divided by 23.
NIF_LETTERS = "TRWAGMYFPDXBNJZSQVHLCKE"
# A degree, the number of its first subject in the cart, and how many subjects follow each other; 0
# subjects stand for one lesson.
Cart = tuple[str, int, int]


@dataclass
class SampleShop:
    """The shop at `now`, the moment when the sample is made. `clerk` acts for the staff."""

    clerk: Any
    now: datetime = field(default_factory=timezone.now)
    # The order of the student whose friend code others buy with.
    friend: Order = field(default_factory=Order)
    subjects: dict[str, list[Subject]] = field(default_factory=dict)
    _people: Any = field(default_factory=lambda: count(1))
    _references: Any = field(default_factory=lambda: count(1))

    def __post_init__(self) -> None:
        for subject in Subject.objects.on_sale().select_related("degree").order_by("pk"):
            self.subjects.setdefault(subject.degree.name, []).append(subject)
        self._mails = set(Mail.objects.values_list("pk", flat=True))
        self._tasks = set(DBTaskResult.objects.values_list("pk", flat=True))

    def person(self) -> dict[str, str]:
        return person(next(self._people))

    def reference(self, prefix: str = "pi") -> str:
        return f"{prefix}_{REFERENCE}_{next(self._references):05d}"

    def payment(self, cents: int) -> ConfirmedPayment:
        """A payment of the kind that Stripe does not know."""
        return ConfirmedPayment(self.reference(), cents, kind=PaymentKind.SAMPLE)

    def save(
        self, at: datetime, cart: Cart | CheckoutItem, *, who: Student | None = None, **how: Any
    ) -> Order:
        """A new buyer, or the student `who`, places an order that nobody has paid yet: a cart."""
        names = ("email", "phone", "first_name", "last_name")
        known = {name: getattr(who, name) for name in names} if who else self.person()
        items = [cart] if isinstance(cart, CheckoutItem) else self._items(*cart)
        return save_cart(at, items, who=known, **how)

    def _items(self, degree: str, first: int, size: int) -> list[CheckoutItem]:
        subjects = self.subjects[degree]
        if size:
            return [CheckoutItem(row.pk) for row in subjects[first : first + size]]
        subject = [row for row in subjects if not row.complete_only][first]
        lesson = subject.lessons.filter(status="active").order_by("position")[0]
        return [CheckoutItem(subject.pk, (lesson.pk,))]

    def buy(
        self,
        at: datetime,
        cart: Cart | CheckoutItem,
        *,
        works: bool = True,
        by: PaymentKind = PaymentKind.SAMPLE,
        **how: Any,
    ) -> Order:
        """Place an order and pay it, or its first instalment, four minutes later.

        The access is provided at once if the classroom `works`. `by` is the way to pay.
        """
        order = self.save(at, cart, **how)
        paid_at = at + timedelta(minutes=4)
        if order.total_cents == 0:
            with clock_at(paid_at):
                complete_free(order_id=order.pk, revision=order.revision, actor="comprador")
        else:
            self.pay(order, paid_at, first_payment_cents(order), by=by)
        if works:
            self.work(order, paid_at + timedelta(seconds=5))
        order.refresh_from_db()
        return order

    def pay(
        self, order: Order, at: datetime, cents: int, *, by: PaymentKind = PaymentKind.SAMPLE
    ) -> None:
        """The buyer pays. A plan saves the card for its other instalments.

        A payment of another kind than "sample" is of the order's customer, which the sandbox gets.
        """
        payment = replace(self.payment(cents), kind=by)
        if by != PaymentKind.SAMPLE:
            customer = self.reference("cus")
            Order.objects.filter(pk=order.pk).update(customer_reference=customer)
        if order.in_instalments:
            payment = replace(payment, payment_method=self.reference("pm"))
            customer = self.reference("cus")
            Order.objects.filter(pk=order.pk).update(customer_reference=customer, card_label=CARD)
        with clock_at(at):
            mark_paid(order_id=order.pk, payment=payment, actor=PROVIDER)

    def work(self, order: Order, at: datetime) -> None:
        """Provide the access of the order, as the classroom's worker does."""
        with clock_at(at):
            provision.func(order_id=order.pk)
            for change in AccessChange.objects.filter(order_id=order.pk, status=AccessChange.OPEN):
                sync_classroom.func(change_id=change.pk)

    def renew(self, student: Student, ends_on: date, at: datetime) -> Order:
        """The student presses the link of what ends on that day, and pays four minutes later."""
        with clock_at(at):
            link = renewal_link(student, ends_on)
            renewal = open_order(link.partition("enlace=")[2])
            place(
                Checkout(
                    payment_type=PaymentType.FULL,
                    items=tuple(items_of(renewal.lines.all())),
                    expected_total_cents=renewal.total_cents,
                    accepted=frozenset(Consent.Kind),
                    order_id=renewal.pk,
                    token=renewal.auth_token,
                    email=student.email,
                    phone=student.phone,
                    first_name=student.first_name,
                    last_name=student.last_name,
                )
            )
        paid_at = at + timedelta(minutes=4)
        self.pay(renewal, paid_at, renewal.total_cents)
        self.work(renewal, paid_at + timedelta(seconds=5))
        return renewal

    def invoice(self, order: Order, at: datetime, **changes: str) -> Invoice:
        """The buyer asks for an invoice and gets it. `changes` are details that are wrong."""
        number = 10_000_000 + 7_919 * order.pk
        details = {
            "name": order.student.full_name,
            "tax_id": f"{number}{NIF_LETTERS[number % 23]}",
            "address": f"Calle de la Academia {order.pk}",
            "postal_code": "28004",
            "city": "Madrid",
            "country": "ES",
        }
        with clock_at(at):
            give_details(order, {**details, **changes})
            [invoice] = bring_up_to_date(order.pk)
        return invoice

    def correct_recipient(self, wrong: Invoice, at: datetime, **changes: str) -> None:
        """The clerk issues the invoice that replaces one with a wrong recipient."""
        with clock_at(at):
            correct_recipient(wrong, {**(wrong.recipient or {}), **changes})

    def run_plan(self, order: Order, *, declines: int = 0, by_hand: bool = False) -> None:
        """Announce and charge the instalments that are due until now.

        The bank declines the first `declines` charges. `by_hand`: the student pays the rest instead
        of the first automatic charge.
        """
        due = order.instalments.filter(status=Instalment.Status.DUE).order_by("number")
        while (row := due.first()) and row.charge_on:
            if not row.first_refused_on:
                with clock_at(min(local(row.due_on - timedelta(days=NOTICE_DAYS), 6), self.now)):
                    send_notice(row.pk)
            at = local(row.charge_on, *CHARGED_AT)
            if at > self.now:
                return
            if by_hand:
                self._pay_by_hand(order, row, at)
            else:
                self._charge(row, at, is_declined=declines > 0)
            declines -= 1
            self.work(order, at)

    def _charge(self, row: Instalment, at: datetime, *, is_declined: bool) -> None:
        payment = self.payment(row.amount_cents)
        with clock_at(at):
            claimed = claim(row.pk)
            charge = begin_charge(claimed) if claimed else None
            assert charge is not None, "the instalment is due"  # noqa: S101
            made: Any = {"order_id": row.order_id, "attempt": charge.number, "actor": RUNNER}
            if is_declined:
                reference, kind = payment.reference, RefusalKind.INSUFFICIENT_FUNDS
                made |= {"number": row.number, "refusal": kind, "code": kind.value}
                record_refusal(reference=reference, **made)
            else:
                mark_instalments_paid(numbers=[row.number], payment=payment, **made)

    def _pay_by_hand(self, order: Order, row: Instalment, at: datetime) -> None:
        with clock_at(at):
            made = begin_by_hand(order_id=order.pk, first=row.number, everything=True)
            how: Any = {"order_id": order.pk, "attempt": made.attempt, "actor": PROVIDER}
            paid = self.payment(made.amount_cents)
            mark_instalments_paid(numbers=made.numbers, payment=paid, **how)

    def refund(
        self, order: Order, at: datetime, reason: str, cents: int | None = None, **effects: Any
    ) -> list[Refund]:
        """A clerk refunds `cents`, or all that is left, and Stripe answers seconds later."""
        with clock_at(at):
            most = refundable_cents(order)
            ids = request_refund(
                order_id=order.pk,
                request=RefundRequest(most if cents is None else cents, reason, **effects),
                batch=uuid4().hex,
                user=self.clerk,
                seen_cents=most,
            )
        refunds = list(Refund.objects.filter(pk__in=ids).order_by("pk"))
        for row in refunds:
            name, status = self.reference("re"), RefundStatus.SUCCEEDED
            report = ReportedRefund(name, row.amount_cents, status, row.key_id)
            with clock_at(at + timedelta(seconds=5)):
                record_refunds(payment_id=row.payment_id, reports=[report], provider=PROVIDER)
        self.work(order, at + timedelta(seconds=9))
        if PendingInvoice.objects.filter(order=order).exists():
            with clock_at(at + timedelta(seconds=10)):
                bring_up_to_date(order.pk)
        order.refresh_from_db()
        return refunds

    def dispute(self, order: Order, at: datetime, decided: DisputeStatus | None) -> None:
        """The cardholder disputes the first payment. The bank may have `decided` 40 days later."""
        payment = order.payments.order_by("pk")[0]
        report = ReportedDispute(
            reference=self.reference("dp"),
            amount_cents=to_cents(payment.amount),
            status=DisputeStatus.OPEN,
            reason=DISPUTE_REASONS["fraudulent"],
            opened_at=at,
            respond_by=at + timedelta(days=9),
        )
        reports = [(at, report)]
        if decided:
            reports.append((at + timedelta(days=40), replace(report, status=decided)))
        for moment, reported in reports:
            with clock_at(moment):
                record_dispute(payment_id=payment.pk, report=reported, provider=PROVIDER)
            self.work(order, moment + timedelta(seconds=5))

    def close(self) -> None:
        """Mark the sample's mails as sent, and delete the tasks that would send them."""
        DBTaskResult.objects.exclude(pk__in=self._tasks).delete()
        Mail.objects.filter(status=Mail.Status.QUEUED).exclude(pk__in=self._mails).update(
            status=Mail.Status.SENT, attempts=1, sent_at=F("created_at") + timedelta(seconds=4)
        )


def save_cart(
    at: datetime,
    items: Sequence[CheckoutItem],
    *,
    who: dict[str, str],
    plan: bool = False,
    code: str = "",
    gift: GiftDetails | None = None,
    signed_in_as: int | None = None,
) -> Order:
    """Place an order at the prices of this moment. `signed_in_as` is the id of the student."""
    payment_type = PaymentType.INSTALMENTS if plan else PaymentType.FULL
    with clock_at(at):
        offer = offer_for(Asked(items, payment_type, code=code, credit_for=signed_in_as))
        checkout = Checkout(
            payment_type=payment_type,
            items=tuple(items),
            expected_total_cents=offer.total_cents,
            accepted=frozenset(Consent.Kind),
            promo_code=code,
            gift=gift,
            keeps_gift=False,
            signed_in_as=signed_in_as,
            email=who["email"],
            phone=who["phone"],
            first_name=who["first_name"],
            last_name=who["last_name"],
        )
        return place(checkout).order

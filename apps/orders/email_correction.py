"""The buyer corrects the mistyped address of a paid order (docs/rules.md, "Students").

The owner of the other address confirms it by a mailed link before anything changes.
"""

from dataclasses import replace
from datetime import timedelta

from django.core import signing
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from apps.classroom.models import Account, Provisioning
from apps.classroom.move_access import is_providing_access, lock_access
from apps.classroom.transfer import transfer_access
from apps.core.errors import Conflict
from apps.core.keyed_digest import keyed_digest, matches
from apps.core.mail.outbox import move_waiting_mails, queue_mail
from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import SecretUrl, absolute_url
from apps.orders.checkout.recover import may_be_known_to_others
from apps.orders.errors import OrderNotFound
from apps.orders.ledger.history import flag, note
from apps.orders.ledger.locks import lock_buyer, lock_orders, locked_order
from apps.orders.models import Gift, Order, PromoUse
from apps.orders.models.order import CARD_MINIMUM_CENTS
from apps.orders.models.staff_order import is_personal
from apps.orders.models.statuses import EVER_PAID, EventKind
from apps.orders.promo import uses as promo_uses
from apps.orders.rewards.service import move_rewards_of
from apps.pricing.models import PromoCode
from apps.pricing.promo_checks import PromoRefused, check_buyer
from apps.students.confirmed import confirm_address
from apps.students.models import Consent, ErasureRequest, Student
from apps.students.services import find_or_create_student

CORRECTION_TIME = timedelta(hours=24)
# The buyer may mistype the address again. Each time a mail goes out.
MOST_REQUESTS = 3
LINK_LIFETIME = timedelta(days=7)
ACTOR = "comprador"
_SALT = "apps.orders.email-correction"


class CorrectionClosed(Conflict):
    code = "correction_closed"
    message = "El correo de esta compra ya no se puede cambiar aquí. Escríbenos y lo cambiamos."


class CorrectionBusy(Conflict):
    code = "correction_busy"
    message = "Ahora mismo estamos preparando un acceso. Vuelve a intentarlo en un minuto."


@transaction.atomic
def ask_for_correction(*, order_id: int, token: str, email: str, network: str = "") -> None:
    """Mail a link to the address that the buyer gives. Nothing changes until it is used.

    Within 24 hours after the payment, at most three times, and not of an order whose price is for
    its student alone, such as one with credit for lessons. Whoever types an address has not shown
    that it is theirs: the order, its student and another student's data stay as they are. What
    happens is the same for every address, so nobody learns who is a customer.

    Raises OrderNotFound if id and token do not match a paid order, and CorrectionClosed.
    """
    if not Order.objects.filter(pk=order_id, status__in=EVER_PAID).exists():
        raise OrderNotFound
    order = locked_order(order_id)
    if not order.opens_with(token):
        raise OrderNotFound
    asked = order.events.filter(kind=EventKind.CORRECTION_ASKED).count()
    is_late = not _is_in_time(order, CORRECTION_TIME)
    is_for_one = is_personal(order) or order.lines.filter(credit__gt=0).exists()
    if is_late or _is_corrected(order) or asked >= MOST_REQUESTS or is_for_one:
        raise CorrectionClosed
    email = email.strip().lower()
    if email == order.student.email:
        return
    note(
        order,
        kind=EventKind.CORRECTION_ASKED,
        actor=ACTOR,
        reason=f"El comprador dice que su correo es {email}: se le pide allí que lo confirme.",
    )
    queue_mail(
        key=f"email-correction:{order.pk}:{asked + 1}",
        template="email_correction",
        to=email,
        context={
            "order_id": order.pk,
            "email": email,
            "replaces": keyed_digest(_SALT, order.student.email),
        },
        # Anybody gets any number of orders that cost nothing.
        network=network if order.total_cents < CARD_MINIMUM_CENTS else "",
    )


def correction_url(order: Order, email: str, *, replaces: str = "") -> SecretUrl:
    """The link that confirms the address. It opens nothing else.

    `replaces` is the digest of the address that the buyer asked to correct. Staff may have changed
    it since, and then a mail that has waited must not undo that.
    """
    digest = replaces or keyed_digest(_SALT, order.student.email)
    token = signing.dumps([order.pk, email, digest], salt=_SALT)
    return SecretUrl(absolute_url(f"{reverse('confirm-email')}?enlace={token}"))


def order_to_correct(token: str) -> tuple[Order, str] | None:
    """The order and the address of a link; None if it is invalid, too old or used already."""
    try:
        order_id, email, digest = signing.loads(token, salt=_SALT, max_age=LINK_LIFETIME)
    except signing.BadSignature:
        return None
    orders = Order.objects.filter(pk=order_id, status__in=EVER_PAID).select_related("student")
    order = orders.first()
    if order is None or _is_corrected(order) or not matches(_SALT, order.student.email, digest):
        return None
    return order, email


@transaction.atomic
def use_correction(token: str) -> bool:
    """Give the order and its access to the student of the address whose owner has used the link.

    The student of the mistyped address keeps everything else: the link proves nothing about that
    address, whose owner may have a cart, or pay one at this moment. If that student may be somebody
    who uses the shop, nothing changes and the order is flagged for staff. So it is if others may
    have the order's token: its recovery link was opened, or it was paid by a transfer, which the
    owner of the mistyped address may have made by the mail, or on Stripe's page, whose address can
    be passed on. So it is, too, if the owner of the other address could not use the order's code:
    otherwise each purchase of one account could be somebody's first.

    Confirmation and access mail are sent again. False if the link is of no use. Raises
    CorrectionBusy while a worker provides an access of one of the two students.
    """
    found = order_to_correct(token)
    if found is None:
        return False
    order, email = found
    before = order.student
    to = Student.objects.with_email(email)
    # Lock as a payment does: the orders, the codes, the access, and the students last. A second use
    # of the link waits here.
    students = [before, to] if to else [before]
    # Asked without locks first: the link works until it is used, and each press would lock all.
    if is_providing_access([student.pk for student in students]):
        raise CorrectionBusy
    lock_orders(Order.objects.filter(student__in=students))
    if order.promo_code_id is not None:
        # The other address may have no row to lock yet.
        lock_buyer(email=email, phone=order.phone, order=order)
    codes = PromoCode.objects.select_for_update(no_key=True).filter(student__in=students)
    list(codes.order_by("pk"))
    is_idle = lock_access([student.pk for student in students])
    found = order_to_correct(token)
    if found is None:
        return False
    order = found[0]
    is_known = may_be_known_to_others(order)
    refused = _refused_code(order, email)
    if is_known or refused or not _is_new_student(order) or (to and _is_unsettled(to)):
        reason = f"El comprador dice que su correo es {email}. Hay que cambiarlo a mano."
        if refused:
            reason += f" Con ese correo el código del pedido no valdría: {refused}"
        if is_known:
            reason = (
                f"Alguien con el enlace del pedido dice que su correo es {email}. Antes de "
                "cambiarlo, comprueba quién ha pagado."
            )
        flag(order, kind=EventKind.EMAIL_CHANGED, actor=ACTOR, reason=reason)
        return True
    if not is_idle:
        raise CorrectionBusy
    to = find_or_create_student(
        email=email, phone=order.phone, first_name=order.first_name, last_name=order.last_name
    )
    _move_order(order, before=before, to=to)
    confirm_address(to)
    return True


def _refused_code(order: Order, email: str) -> str:
    """Why the buyer with this address could not use the order's code, or an empty string."""
    promo = order.promo_code
    if promo is None or not order.promo_uses.filter(status=PromoUse.Status.USED).exists():
        return ""
    # The owner of the address has pressed the link.
    standing = promo_uses.standing(
        promo, email=email, order=order, check_purchases=True, buyer_is_known=True
    )
    buyer = standing.buyer
    try:
        if buyer is not None:
            check_buyer(promo, replace(buyer, awaiting=0, reserved=0))
    except PromoRefused as refusal:
        return refusal.message
    return ""


def _is_corrected(order: Order) -> bool:
    return order.events.filter(kind=EventKind.EMAIL_CHANGED, actor=ACTOR).exists()


def _is_in_time(order: Order, time: timedelta) -> bool:
    return order.paid_at is not None and timezone.now() <= order.paid_at + time


def _is_new_student(order: Order) -> bool:
    """Whether nobody but this buyer has used the student.

    That is: no other purchase or gift, no use of a mailed link, no sign-in, no block by staff, and
    no account in the classroom that is older than it. A cart counts for nothing: it stays.
    """
    student = order.student
    has_bought = student.orders.filter(status__in=EVER_PAID).exclude(pk=order.pk).exists()
    account = Account.objects.filter(student=student).first()
    # An account that existed in the classroom before is somebody's, and staff decide about one with
    # powers.
    is_used = account is not None and (
        account.password != "" or account.held_id != "" or not account.takes_links
    )
    # A gift is in the order of whoever gave it, and its access is the student's.
    has_gift = student.provisionings.exclude(order_id=order.pk).exists()
    is_theirs = student.email_confirmed_at is not None or student.sign_ins.exists()
    return not (has_bought or is_used or has_gift or is_theirs or student.blocked_at)


def _is_unsettled(student: Student) -> bool:
    """Whether staff decide what the student gets."""
    erasure = ErasureRequest.objects.filter(student=student)
    return student.blocked_at is not None or erasure.exists()


def _move_order(order: Order, *, before: Student, to: Student) -> None:
    """Move the order to another student, with what belongs to it alone."""
    order.student, order.email = to, to.email
    order.save(update_fields=["student", "email", "updated_at"])
    note(
        order,
        kind=EventKind.EMAIL_CHANGED,
        actor=ACTOR,
        reason=f"Correo cambiado: de {before.email} a {to.email}",
    )
    Consent.objects.filter(order_id=order.pk).update(student=to)
    PromoUse.objects.filter(order=order).update(student=to)
    # The access of a gift is not the buyer's.
    if not Gift.objects.filter(order=order).exists():
        _move_access(order, to)
    # From here on mails may lock a count for which orders of this student wait.
    move_rewards_of(order, before=before, to=to, actor=ACTOR)
    if not before.orders.exists():
        # Nobody but this buyer has typed them, and they are not the other address's to read.
        Student.objects.filter(pk=before.pk).update(first_name="", last_name="", phone="")
    move_waiting_mails(students=[to.pk], before=before.email, after=to.email)
    queue_mail(
        key=f"order-moved:{order.pk}",
        template="order_moved",
        to=before.email,
        context={"order_id": order.pk},
    )
    queue_mail(
        key=f"order-confirmation:{order.pk}:corrected",
        template="order_confirmation",
        to=order.email,
        context={"order_id": order.pk},
        origin=Origin.OWNER,
    )


def _move_access(order: Order, to: Student) -> None:
    """Move the access, whose mail follows when it is provided."""
    if Provisioning.objects.filter(order_id=order.pk).exists():
        transfer_access(order_id=order.pk, to=to, reason="Correo corregido")

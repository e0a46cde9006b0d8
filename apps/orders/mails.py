"""The mails about orders. The outbox stores ids; a mail reads its data when it is rendered.

- `order_confirmation` {"order_id"}: to the buyer, once the order is paid or its first instalment is
- `cart_saved` {"order_id"}: to the buyer, with the recovery link of the cart
- `payment_declined` {"order_id"}: the same, after the bank declined the payment
- `cart_reminder` {"order_id"}: the same, to a buyer who agreed to reminders
- `email_correction` {"order_id", "email"}: to the address that a buyer says is theirs, with the
  link that confirms it
- `order_moved` {"order_id"}: to the address that an order had before the correction
- `already_bought` {"order_id"}: to the buyer's address, if they have bought some items before
- `bought_twice` {"order_id"}: to the buyer of a paid order, if it has something they had already
- `referral_code` {"student_id"}: to a student after their first purchase, with their friend code
- `staff_attention` {"reason", "order_id", "payment_id" or "access_change_id"}: to
  `settings.STAFF_EMAIL`
"""

from datetime import date
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

from apps.classroom.mails import know_orders
from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import NoLongerDue, SecretUrl, TypedText, absolute_url, register_mail
from apps.core.models import SiteSettings
from apps.core.money import to_euros
from apps.orders.checkout.remind import unsubscribe_token, wants_reminder
from apps.orders.email_correction import LINK_LIFETIME as CORRECTION_LINK_LIFETIME
from apps.orders.email_correction import correction_url
from apps.orders.gifts.mails import gift_facts
from apps.orders.invoice_link import invoice_url
from apps.orders.models import CART_LIFE, Instalment, Order, OrderLine, Payment
from apps.orders.models.staff_order import exchange_of
from apps.orders.models.statuses import EVER_PAID
from apps.orders.offer.bought_before import names_bought_twice, order_lines_bought_before
from apps.orders.plan.plan_link import plan_url
from apps.orders.recovery_link import recovery_url
from apps.orders.renewals.renewals import CannotRenew, price, renewal_link
from apps.orders.rewards.service import HOLD
from apps.orders.withdrawal_link import withdrawal_url
from apps.pricing.models import PromoCode
from apps.pricing.payment_type import PaymentType
from apps.pricing.reads import current_terms
from apps.students.models import Consent, Student

DAY = r"j \d\e F \d\e Y"


def register() -> None:
    register_mail(
        "order_confirmation",
        "Confirmación de tu {{ order_name }}",
        lambda ids: order_confirmation_context(
            Order.objects.select_related("by_staff").get(pk=ids["order_id"])
        ),
        origin=lambda ids: origin_of_order(ids["order_id"]),
        student=lambda ids: Order.objects.filter(pk=ids["order_id"]).student_id(),
        texts={
            "heading": "¡Gracias por tu compra, {nombre}!",
            "intro": "Hemos recibido tu pago. Este es el resumen de tu {pedido}, del {fecha}.",
            "details": "Estamos preparando tu acceso al aula virtual. En unos minutos recibirás "
            "otro correo con un enlace personal para entrar. Si no lo ves, mira "
            "también en la carpeta de correo no deseado.",
        },
    )
    register_mail(
        "cart_saved",
        "Tu carrito te espera",
        lambda ids: cart_saved_context(_cart(ids)),
        origin=Origin.FORM,
        student=lambda ids: Order.objects.filter(pk=ids["order_id"]).student_id(),
        texts={
            "heading": "Hemos guardado tu carrito",
            "greeting": "Hola:",
            "intro": "Aquí tienes lo que elegiste.",
        },
    )
    register_mail(
        "renewal",
        "Tu acceso termina el {{ ends_on }}",
        _renewal,
        # The job paces those to who has paid nothing.
        origin=lambda ids: Origin.PAYMENT if has_paid(ids["student_id"]) else Origin.PACED,
        student=lambda ids: int(ids["student_id"]),
        texts={
            "heading": "Tu acceso termina el {fin}",
            "greeting": "Hola:",
            "details": "Si necesitas ese acceso otro semestre, renuévalo por {total} (hoy cuesta "
            "{precio}) y lo tendrás hasta el {hasta}.",
        },
    )
    register_mail(
        "email_correction",
        "Confirma tu correo para el pedido n.º {{ number }}",
        _email_correction,
        origin=Origin.EVENT,
        texts={
            "heading": "Confirma tu correo",
            "greeting": "Hola:",
            "details": "Entonces te enviamos aquí la confirmación de la compra y el acceso.",
        },
    )
    register_mail(
        "order_moved",
        "El pedido n.º {{ number }} ya no es de este correo",
        lambda ids: {"number": ids["order_id"]},
        origin=Origin.EVENT,
        is_fixed=True,
        texts={"greeting": "Hola:"},
    )
    register_mail(
        "payment_declined",
        "Tu banco no ha aceptado el pago",
        lambda ids: payment_declined_context(_cart(ids)),
        origin=Origin.EVENT,
        student=lambda ids: Order.objects.filter(pk=ids["order_id"]).student_id(),
        texts={
            "heading": "Tu banco no ha aceptado el pago",
            "greeting": "Hola:",
            "intro": "Tu banco ha terminado de revisar el pago y no lo ha aceptado.",
        },
    )
    register_mail(
        "cart_reminder",
        "Dejaste tu compra a medias",
        lambda ids: cart_reminder_context(_cart(ids)),
        origin=Origin.PACED,
        student=lambda ids: Order.objects.filter(pk=ids["order_id"]).student_id(),
        texts={
            "heading": "Dejaste tu compra a medias",
            "greeting": "Hola:",
            "intro": "Tu carrito sigue guardado, por si quieres terminar la compra.",
        },
    )
    register_mail(
        "already_bought",
        "Algo de tu carrito ya lo tienes",
        lambda ids: already_bought_context(_cart(ids)),
        origin=Origin.PACED,
        student=lambda ids: Order.objects.filter(pk=ids["order_id"]).student_id(),
        texts={
            "heading": "Esto ya lo tienes",
            "greeting": "Hola:",
            "intro": "Con tu dirección se ha preparado una compra en la que hay algo que ya "
            "tienes:",
            "details": "Lo encontrarás en tu aula, sin pagar otra vez.",
        },
    )
    register_mail(
        "bought_twice",
        "Has comprado algo que ya tenías",
        lambda ids: bought_twice_context(Order.objects.get(pk=ids["order_id"])),
        origin=lambda ids: origin_of_order(ids["order_id"]),
        student=lambda ids: Order.objects.filter(pk=ids["order_id"]).student_id(),
        texts={
            "heading": "Has comprado algo que ya tenías",
            "greeting": "Hola, {nombre}:",
            "intro": "En tu {pedido}, que ya está pagado, hay algo que ya tenías:",
            "details": "En el aula lo tienes una sola vez.",
        },
    )
    register_mail(
        "referral_code",
        "Tu código para invitar a amigos",
        _friend_code,
        origin=lambda ids: origin_of_student(ids["student_id"]),
        student=lambda ids: int(ids["student_id"]),
        texts={
            "heading": "Invita a tus amigos",
            "greeting": "Hola:",
            "intro": "Ya puedes invitar a tus amigos. Este es tu código:",
            "details": "Comparte este enlace, que ya lleva tu código:",
        },
    )
    register_mail(
        "staff_attention",
        "Atención: {{ what }}",
        staff_attention_context,
        origin=Origin.STAFF,
        is_fixed=True,
    )
    know_orders(origin_of_order, has_paid)


def was_paid(order_id: int) -> bool:
    """Whether money was paid for this order."""
    return Order.objects.money_was_paid().filter(pk=order_id).exists()


def origin_of_order(order_id: int) -> Origin:
    """PAYMENT if money was paid. A stranger can place a free order with any address.

    PACED if its code has a number of uses, which is a limit for all mailboxes: the vouchers of a
    company may be used within an hour.
    """
    if was_paid(order_id):
        return Origin.PAYMENT
    counted = Order.objects.filter(pk=order_id, promo_code__max_uses__isnull=False)
    return Origin.PACED if counted.exists() else Origin.EVENT


def has_paid(student_id: int) -> bool:
    """Whether money was paid by the student, or for a gift to them."""
    return Order.objects.money_was_paid_for(student_id).exists()


def origin_of_student(student_id: int) -> Origin:
    """PAYMENT if money was paid by the student, or for a gift to them.

    What follows from a purchase must not be withheld because of carts in the student's name.
    """
    if has_paid(student_id):
        return Origin.PAYMENT
    counted = Order.objects.filter(student=student_id, status__in=EVER_PAID)
    counted = counted.filter(promo_code__max_uses__isnull=False)
    return Origin.PACED if counted.exists() else Origin.EVENT


def order_confirmation_context(order: Order) -> dict[str, Any]:
    """Variables of `order_confirmation`: items, payment, plan of instalments and accepted texts."""
    consents = {
        consent.kind: consent
        for consent in Consent.objects.filter(order_id=order.pk)
        .select_related("legal_text")
        .order_by("accepted_at")
    }
    withdrawal = consents.get(Consent.Kind.WITHDRAWAL)
    terms = consents.get(Consent.Kind.ADULT) or consents.get(Consent.Kind.TERMS)
    instalments = (
        order.instalments.order_by("number")
        if order.payment_type == PaymentType.INSTALMENTS
        else Instalment.objects.none()
    )
    return {
        "order_name": _name(order),
        "first_name": TypedText(order.first_name),
        "paid_at": order.paid_at or timezone.now(),
        "lines": [_line(line) for line in order.lines.all()],
        "discounts": list(order.discounts.all()),
        "total": order.total_amount,
        "vat_note": order.vat_note,
        "exchange": exchange_of(order),
        "instalments": [
            {
                "number": instalment.number,
                "amount": instalment.amount,
                "due_on": instalment.due_on,
                "paid": instalment.status == Instalment.Status.PAID,
            }
            for instalment in instalments
        ],
        "plan_url": SecretUrl(absolute_url(plan_url(order))) if instalments else "",
        "invoice_url": SecretUrl(absolute_url(invoice_url(order))) if order.total_amount else "",
        "portal_url": absolute_url(SiteSettings.current().portal),
        "gift": gift_facts(order),
        "waived_on": withdrawal and withdrawal.accepted_at,
        "waiver": withdrawal and withdrawal.wording,
        "withdrawal_url": SecretUrl(absolute_url(withdrawal_url(order))),
        "terms": terms and terms.legal_text,
        "terms_url": terms and absolute_url(f"/terminos?version={terms.legal_text.version}"),
    }


def _email_correction(ids: dict[str, Any]) -> dict[str, Any]:
    """Variables of `email_correction`. It names nothing that was bought or typed."""
    order = Order.objects.select_related("student").get(pk=ids["order_id"])
    return {
        "number": order.pk,
        "confirm_url": correction_url(order, ids["email"], replaces=ids.get("replaces", "")),
        "days": CORRECTION_LINK_LIFETIME.days,
    }


def _cart(ids: dict[str, Any]) -> Order:
    return Order.objects.get(pk=ids["order_id"])


def cart_saved_context(order: Order) -> dict[str, Any]:
    """Variables of `cart_saved`: the cart and its recovery link, which works until it expires.

    The buyer's name is left out. The address is not verified, and somebody could type a message to
    a stranger into the name.
    """
    return {
        "only_to": order.email,
        "lines": [_line(line) for line in order.lines.all()],
        "total": order.total_amount,
        "vat_note": order.vat_note,
        "valid_until": order.created_at + CART_LIFE,
        "recovery_url": SecretUrl(absolute_url(recovery_url(order))),
    }


def payment_declined_context(order: Order) -> dict[str, Any]:
    """The variables of `cart_saved`. Raises NoLongerDue if the order is paid or expired."""
    if not order.is_open:
        raise NoLongerDue
    return cart_saved_context(order)


def cart_reminder_context(order: Order) -> dict[str, Any]:
    """The variables of `cart_saved`, and the unsubscribe link.

    Raises NoLongerDue if the cart was paid or its items were bought since the mail was queued.
    """
    if not wants_reminder(order):
        raise NoLongerDue
    path = reverse("stop-reminders")
    return {
        **cart_saved_context(order),
        "unsubscribe_url": SecretUrl(absolute_url(f"{path}?aviso={unsubscribe_token(order)}")),
    }


def already_bought_context(order: Order) -> dict[str, Any]:
    """Variables of `already_bought`: the items bought before, and the link to the classroom.

    It repeats nothing that was typed, because a stranger may have typed the address.
    """
    owned = order_lines_bought_before(order)
    if not owned:
        raise NoLongerDue
    return {
        "only_to": order.student.email,
        "owned": [row.name for row in owned],
        "is_paid": order.status != Order.Status.CART,
        "portal_url": absolute_url(SiteSettings.current().portal),
    }


def bought_twice_context(order: Order) -> dict[str, Any]:
    """Variables of `bought_twice`: the items that the buyer had, and the link to the classroom."""
    names = names_bought_twice(order)
    if not names or order.status == Order.Status.REFUNDED:
        raise NoLongerDue
    return {
        "first_name": TypedText(order.first_name),
        "order_name": _name(order),
        "owned": names,
        "portal_url": absolute_url(SiteSettings.current().portal),
    }


def _friend_code(ids: dict[str, Any]) -> dict[str, Any]:
    """Variables of `referral_code`: the code, the discount, the rewards and the link to share.

    Raises NoLongerDue if the code went to another student with a corrected order.
    """
    student, terms = Student.objects.get(pk=ids["student_id"]), current_terms()
    own = PromoCode.objects.filter(is_referral_code=True)
    # A merge has given the code to another student, unless that student had one already.
    code = own.filter(student__in=[student, student.merged_into]).first()
    if code is None:
        raise NoLongerDue
    return {
        "code": code.code,
        "friend_saves": code.value,
        "reward_full": to_euros(terms.reward_full_payment_cents),
        "reward_instalments": to_euros(terms.reward_instalments_cents),
        "hold_days": HOLD.days,
        "invite_url": absolute_url(f"/compra?{urlencode({'codigo': code.code})}"),
    }


def staff_attention_context(ids: dict[str, Any]) -> dict[str, Any]:
    """Variables of `staff_attention`: what to look at, its admin page and the reason.

    A change of access has the page with the button that retries it.
    """
    if "access_change_id" in ids:
        # A change of address may belong to no order.
        subject = "un cambio de acceso al aula"
        page = f"{reverse('admin:classroom_accesschange_changelist')}?situacion=atascado"
    elif "order_id" in ids:
        order = Order.objects.get(pk=ids["order_id"])
        subject, page = f"el {_name(order)}", reverse("admin:orders_order_change", args=[order.pk])
    else:
        payment = Payment.objects.get(pk=ids["payment_id"])
        subject = f"el pago {payment.reference}"
        page = reverse("admin:orders_payment_change", args=[payment.pk])
    return {"what": subject, "reason": ids["reason"], "admin_url": absolute_url(page)}


def _name(order: Order) -> str:
    return f"pedido n.º {order.pk}"


def _line(line: OrderLine) -> dict[str, Any]:
    return {
        "name": line.name,
        "kind": "Lección Individual" if line.lesson_id else "Asignatura Completa",
        "detail": f"{line.degree_name}, {line.university_name}",
        "list_price": line.list_price,
    }


def _renewal(ids: dict[str, Any]) -> dict[str, Any]:
    student = Student.objects.get(pk=ids["student_id"])
    ends_on = date.fromisoformat(ids["ends_on"])
    try:
        renewal = price(student, ends_on)
    except CannotRenew as reason:
        raise NoLongerDue from reason
    return {
        "ends_on": date_format(ends_on, DAY),
        "names": [line.name for line in renewal.agreed.lines],
        "full": to_euros(renewal.full_cents),
        "total": to_euros(renewal.agreed.total_cents),
        "until": date_format(renewal.ends_on, DAY),
        "renewal_url": SecretUrl(renewal_link(student, ends_on)),
    }

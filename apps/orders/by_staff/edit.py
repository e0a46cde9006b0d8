"""An open order of staff is edited: other lines, another price, another way to pay.

The rules are in docs/rules.md, "Orders made by staff".
"""

from dataclasses import dataclass, replace
from typing import Any

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone

from apps.core.money import format_euros, to_cents, to_euros
from apps.core.staff.admin_buttons import Repeated
from apps.core.staff.limits import OverLimit, check_discount, counted_cents_of
from apps.orders.by_staff.change import changeable, check_changeable
from apps.orders.by_staff.create import (
    OrderRefused,
    OrderRequest,
    PricedRequest,
    is_within_limits,
    mail_buyer,
    price_request,
)
from apps.orders.checkout.request import Checkout
from apps.orders.checkout.write import PricedCheckout, write_order
from apps.orders.gifts.details import stored_details
from apps.orders.ledger.history import has_event, note
from apps.orders.ledger.locks import locked_order
from apps.orders.models import Order, StaffOrder
from apps.orders.models.statuses import EventKind
from apps.pricing.code_batches import masked
from apps.pricing.payment_type import PaymentType
from apps.pricing.rules import AGREED_NAME
from apps.students.models import Consent, Student


@dataclass(frozen=True)
class PricedEdit:
    """An edit with its price. `changes` are Spanish phrases for staff: what differs, from and to.

    `is_new_agreement`: lines, payment type, discount or total change, so that the discount is
    judged again. `is_other_cart`: it is not for the lines and payment type that it was given for.
    `is_read_by_buyer`: the mail that says how to pay changes.
    """

    priced: PricedRequest
    changes: list[str]
    is_new_agreement: bool
    is_other_cart: bool
    is_read_by_buyer: bool


def check_editable(order: Order, row: StaffOrder | None) -> StaffOrder:
    """The row of an open order whose lines and price staff agree. Raises OrderRefused."""
    row = check_changeable(order, row)
    if not row.can_be_edited:
        raise OrderRefused(
            "El precio de este pedido no lo pone el equipo: anúlalo y crea otro si hace falta."
        )
    student = Student.objects.with_email(order.email)
    if student is None or student.pk != order.student_id:
        raise OrderRefused("El correo del pedido ya no es el de su alumno: cámbialo antes.")
    return row


def price_edit(order: Order, row: StaffOrder, request: OrderRequest) -> PricedEdit:
    """Price and check an edit, and compare it with the order; nothing is written.

    The order keeps its address: who has its link would read the data of another buyer. Raises
    OrderRefused and Unavailable.
    """
    priced = price_request(replace(request, email=order.email))
    total_cents = priced.agreed.total_cents
    before = {line.key: line.name for line in order.lines.all()}
    after = {line.key: line.name for line in priced.agreed.lines}
    types = order.payment_type, request.payment_type
    discounts = to_cents(row.discount), request.discount_cents
    totals = order.total_cents, total_cents
    ways = StaffOrder.PaidBy(row.paid_by), StaffOrder.PaidBy(request.paid_by)
    contact = (order.phone, order.first_name, order.last_name)
    terms = [
        *(f"se añade «{name}»" for key, name in after.items() if key not in before),
        *(f"se quita «{name}»" for key, name in before.items() if key not in after),
        *([f"se quita el código {masked(order.promo_code)}"] if order.promo_code else ()),
        *([f"deja de contar el presupuesto {order.quote_number}"] if order.quote_number else ()),
        *_changed("forma de pago", types, lambda kind: PaymentType(kind).label),
        *_changed("descuento", discounts, format_euros),
        *_changed("total", totals, format_euros),
    ]
    way = [*_changed("se paga con", ways, lambda way: str(way.label).lower())]
    unread = [
        *(["motivo del descuento"] if row.reason != request.reason.strip() else ()),
        *(
            ["datos de contacto"]
            if contact != (request.phone, request.first_name, request.last_name)
            else ()
        ),
    ]
    if not terms and to_cents(row.agreed) != total_cents:
        # The buyer had stored another cart in the order, at the same total.
        terms = ["el total vuelve a ser el acordado"]
    return PricedEdit(
        priced,
        [*terms, *way, *unread],
        is_new_agreement=bool(terms),
        is_other_cart=before.keys() != after.keys()
        or order.payment_type != request.payment_type
        or not _is_as_agreed(order, row),
        is_read_by_buyer=bool(terms or way),
    )


def _is_as_agreed(order: Order, row: StaffOrder) -> bool:
    """Whether the order has the cart that staff agreed, and no other one that its buyer stored."""
    has_agreed_price = order.discounts.filter(name=AGREED_NAME).exists()
    return order.total_amount == row.agreed and (has_agreed_price or not row.discount)


def _counted_cents(edit: PricedEdit, row: StaffOrder, *, user: Any) -> int:
    """How much of the discount has counted before, and counts no second time.

    For another cart it is another discount: what counted for somebody else was for the first one.
    """
    counted_cents = to_cents(row.counted)
    if edit.is_other_cart:
        return min(counted_cents, counted_cents_of(user, str(row.order)))
    return counted_cents


def _changed(what: str, values: tuple[Any, Any], word: Any) -> list[str]:
    before, after = values
    return [] if before == after else [f"{what}: {word(before)} → {word(after)}"]


def why_to_approve(edit: PricedEdit, row: StaffOrder, discount_cents: int, *, user: Any) -> str:
    """Why the edited order would wait for a second person. Empty if it would not."""
    if not edit.is_new_agreement:
        return "El descuento sigue sin aprobar." if row.awaits_approval else ""
    try:
        check_discount(
            user,
            full_cents=edit.priced.today.total_cents,
            discount_cents=discount_cents,
            counted_cents=_counted_cents(edit, row, user=user),
        )
    except OverLimit as refusal:
        return refusal.message
    return ""


@transaction.atomic
def edit_order(
    order_id: int, request: OrderRequest, *, seen: str, seen_cents: int, user: Any
) -> str:
    """Give an open order other content, and mail its buyer the new sum. Returns a Spanish sentence.

    `seen` is the version of the order that the form was opened with, `seen_cents` the total that
    the clerk has confirmed. The new discount is judged as that of a new order, and counts towards
    the clerk's day with what it adds; for another cart, what somebody else has given counts whole.
    An approval holds only for the terms that it was given for.

    The clerk's row is locked first, then the order. Raises OrderRefused and Unavailable, and
    Repeated for a form that has done it already.
    """
    get_user_model().objects.select_for_update(no_key=True).get(pk=user.pk)
    click = f"{order_id}:{request.form_key.hex}"
    if has_event(locked_order(order_id), kind=EventKind.EDITED, external_id=click):
        raise Repeated
    order, row = changeable(order_id)
    check_editable(order, row)
    if row.version != seen:
        raise OrderRefused(
            "El pedido ha cambiado mientras lo editabas: otra persona, o el comprador. Ábrelo otra "
            "vez desde su página."
        )
    edit = price_edit(order, row, request)
    total_cents = edit.priced.agreed.total_cents
    if total_cents != seen_cents:
        raise OrderRefused(
            f"El precio ha cambiado: ahora son {format_euros(total_cents)}. Revísalo."
        )
    if not edit.changes:
        raise OrderRefused("No has cambiado nada.")
    order = write_order(order, _checkout(order, request, edit, user), is_noted=True)
    row.order = order
    _agree(row, request, edit, user)
    if row.awaits_approval and stored_details(order):
        raise OrderRefused(
            "El comprador ha hecho de este pedido un regalo, y un descuento que aprueba otra "
            "persona vale solo para quien compra: rebaja menos, o crea otro pedido."
        )
    waits = " (espera aprobación)" if row.awaits_approval else ""
    note(
        order,
        kind=EventKind.EDITED,
        actor=user.get_username(),
        reason=f"{'; '.join(edit.changes)}{waits}",
        external_id=click,
    )
    if row.awaits_approval:
        return "Pedido editado. Espera a que otra persona apruebe el descuento."
    if not edit.is_read_by_buyer:
        return "Pedido editado. El comprador no recibe nada: lo que paga es lo mismo."
    mail_buyer(order, again=f":{request.form_key.hex}")
    return f"Pedido editado. {order.email} recibe un correo con el pago nuevo."


def _checkout(order: Order, request: OrderRequest, edit: PricedEdit, user: Any) -> PricedCheckout:
    """The edit as a checkout of the order. Gift and wish to be reminded stay as they are."""
    wishes = {Consent.Kind.REMINDERS} if order.reminders_accepted else set()
    checkout = Checkout(
        email=order.email,
        phone=request.phone,
        first_name=request.first_name,
        last_name=request.last_name,
        payment_type=request.payment_type,
        items=request.items,
        expected_total_cents=edit.priced.agreed.total_cents,
        accepted=frozenset(wishes),
    )
    return PricedCheckout(
        checkout, edit.priced.agreed, actor=user.get_username(), gift=stored_details(order)
    )


def _agree(row: StaffOrder, request: OrderRequest, edit: PricedEdit, user: Any) -> None:
    """Store what was agreed.

    Who gives more than was given before, or for another cart, answers for the order.
    """
    row.paid_by = request.paid_by
    row.reason = request.reason.strip()
    # A refused discount that is edited is asked for again.
    row.refused_by = row.refusal = ""
    if edit.is_new_agreement:
        given_cents = request.discount_cents
        counted_cents = _counted_cents(edit, row, user=user)
        granted_cents = 0 if row.awaits_approval else to_cents(row.discount)
        is_within = is_within_limits(
            row.order, edit.priced, given_cents, user=user, counted_cents=counted_cents
        )
        row.counted = to_euros(max(counted_cents, given_cents if is_within else 0))
        row.discount = to_euros(given_cents)
        row.agreed = to_euros(edit.priced.agreed.total_cents)
        row.awaits_approval, row.approved_by = not is_within, ""
        is_given_anew = given_cents > granted_cents or (given_cents and edit.is_other_cart)
        if row.awaits_approval or is_given_anew:
            row.user, row.actor = user, user.get_username()
        row.created_at = timezone.now()
    row.save()

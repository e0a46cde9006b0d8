"""What staff do from an order's page. Each action is safe to repeat: `form_key` names one click.

A function returns a Spanish sentence for staff, and raises an AcademyError if it is refused.
"""

from datetime import date
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.classroom.models import Provisioning
from apps.classroom.provisioning import retry_now, send_access_mail_again
from apps.core.dates import today
from apps.core.errors import Conflict
from apps.core.mail.outbox import queue_mail
from apps.core.mail.recipient_limits import Origin
from apps.core.staff.admin_buttons import Repeated
from apps.orders.ledger.history import note
from apps.orders.ledger.locks import locked_order
from apps.orders.models import Gift, Instalment, Order, OrderNote, StaffOrder
from apps.orders.models.statuses import INSTALMENT_SETTLED, SOLD, EventKind
from apps.orders.plan.charging import card_can_be_charged, charge_again
from apps.orders.settlement.new_address import follow_student
from apps.students.services import change_email

GIVEN_BACK = "El pedido está devuelto entero: ya no abre nada."


# The student's download has all of them.
MOST_NOTES = 200
# Mails of one order that staff send again in a day. The list of debts reads all of them.
MOST_RESENT = 20


class Refused(Conflict):
    """The action is not possible. The message gives the reason in Spanish."""


@transaction.atomic
def resend_confirmation(order_id: int, *, actor: str, form_key: UUID) -> str:
    order = locked_order(order_id)
    if order.status == Order.Status.REFUNDED:
        raise Refused(GIVEN_BACK)
    if order.status not in SOLD:
        raise Refused("El pedido no está pagado: todavía no hay nada que confirmar.")
    mail = queue_mail(
        key=f"order-confirmation:{order.pk}:{form_key.hex}",
        template="order_confirmation",
        to=order.email,
        context={"order_id": order.pk},
        origin=Origin.STAFF,
    )
    return sent_again(order, "Confirmación", actor=actor, is_new=mail is not None)


@transaction.atomic
def send_link(order_id: int, *, actor: str, form_key: UUID) -> str:
    """Mail the link that the buyer needs now: to the classroom, or to finish the purchase."""
    order = locked_order(order_id)
    if order.status == Order.Status.REFUNDED:
        raise Refused(GIVEN_BACK)
    if order.status in SOLD:
        if Provisioning.objects.filter(order_id=order.pk).exclude(paused_for=[]).exists():
            raise Refused("El acceso está en pausa: el correo diría que ya se puede entrar.")
        is_new = send_access_mail_again(
            order_id=order.pk, occasion=form_key.hex, origin=Origin.STAFF
        )
        if Gift.objects.filter(order=order).exists():
            return sent_again(order, "Regalo", actor=actor, is_new=is_new, to="quien lo recibe")
        return sent_again(order, "Enlace de acceso", actor=actor, is_new=is_new)
    if StaffOrder.objects.filter(order=order, awaits_approval=True).exists():
        raise Refused("El descuento de este pedido todavía no está aprobado.")
    if not order.is_open:
        raise Refused("El carrito ha caducado: su enlace ya no sirve.")
    # An order of staff may wait for a transfer: its mail says how to pay it.
    by_staff = hasattr(order, "by_staff")
    mail = queue_mail(
        key=f"cart-saved:{order.pk}:{form_key.hex}",
        template="order_to_pay" if by_staff else "cart_saved",
        to=order.email,
        context={"order_id": order.pk},
        origin=Origin.STAFF,
    )
    return sent_again(order, "Enlace para terminar la compra", actor=actor, is_new=mail is not None)


def sent_again(order: Order, what: str, *, actor: str, is_new: bool, to: str = "") -> str:
    """Note in the order's history that a mail was queued again. Returns a sentence for staff.

    The caller's transaction takes the mail back if that is refused: Repeated or Refused.
    """
    if not is_new:
        raise Repeated
    if order.events.filter(kind=EventKind.MAIL_RESENT, at__date=today()).count() >= MOST_RESENT:
        raise Refused(f"Hoy se le han enviado ya {MOST_RESENT} correos de este pedido.")
    reason = f"{what}: enviado otra vez a {to or order.email}"
    note(order, kind=EventKind.MAIL_RESENT, actor=actor, reason=reason)
    return f"{reason}."


@transaction.atomic
def change_address(order_id: int, *, email: str, actor: str) -> str:
    """Change the address of the order and of its student, which moves the classroom account."""
    student_id = Order.objects.values_list("student", flat=True).get(pk=order_id)
    changed = change_email(student_id=student_id, email=email, actor=actor)
    order = locked_order(order_id)
    before, new = order.email, order.student.email
    if before.lower() != new and follow_student(order, email=new, actor=actor):
        changed = True
        reason = f"Correo cambiado: de {before} a {new}"
        note(order, kind=EventKind.EMAIL_CHANGED, actor=actor, reason=reason)
    if not changed:
        raise Repeated
    told = f"Correo cambiado a {new}. Se avisa a las dos direcciones."
    by_staff: StaffOrder | None = getattr(order, "by_staff", None)
    if by_staff is None or not by_staff.awaits_approval or not order.is_open:
        return told
    what = "cambio" if by_staff.exchanged_line_id else "descuento"
    return (
        f"{told} El pedido espera a que otra persona apruebe el {what}: hasta entonces no se paga."
    )


def retry_access(order_id: int, *, actor: str) -> str:
    if not retry_now(order_id):
        raise Refused("Este pedido no espera ningún intento de acceso.")
    with transaction.atomic():
        order = locked_order(order_id)
        note(order, kind=EventKind.ACCESS_RETRIED, actor=actor, reason="Acceso: otro intento")
    return "Se vuelve a intentar el acceso. En unos segundos se verá el resultado."


def charge_overdue(order_id: int, *, actor: str) -> str:
    """Let the next scheduled run charge the instalments that are overdue."""
    unpaid = Instalment.objects.filter(order=order_id).exclude(status__in=INSTALMENT_SETTLED)
    waiting = unpaid.filter(status=Instalment.Status.DUE, charge_on__lte=today()).count()
    if waiting and card_can_be_charged(Order.objects.get(pk=order_id)):
        # The next run charges them, and those after them once they are paid.
        raise Repeated(f"Ya estaba hecho. Se cobrarán dentro de unos minutos: {waiting}.")
    charged = sum(charge_again(instalment_id=row.pk, actor=actor) for row in unpaid)
    if not charged:
        raise Refused(
            "No se cobra ningún plazo: no han vencido, los anula una devolución, el pedido está en "
            "disputa, o su tarjeta ya no admite cobros y el alumno tiene que poner otra."
        )
    return f"Se cobrarán dentro de unos minutos: {charged}."


@transaction.atomic
def add_note(order_id: int, *, text: str, due_on: date | None, actor: str, form_key: UUID) -> str:
    order = locked_order(order_id)
    notes = OrderNote.objects.filter(order=order)
    if notes.exclude(form_key=form_key).count() >= MOST_NOTES:
        raise Refused(f"Este pedido tiene ya {MOST_NOTES} notas: no caben más.")
    _, is_new = OrderNote.objects.get_or_create(
        form_key=form_key,
        defaults={"order": order, "text": text, "due_on": due_on, "actor": actor},
    )
    if not is_new:
        raise Repeated
    return "Nota guardada."


def tick_off_note(order_id: int, note_id: int, *, actor: str) -> str:
    waiting = OrderNote.objects.waiting().filter(pk=note_id, order=order_id)
    done = waiting.update(done_at=timezone.now(), done_by=actor)
    if not done:
        raise Repeated
    return "Nota hecha."

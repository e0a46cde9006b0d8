"""The student's own link to a plan of instalments."""

from django.urls import reverse

from apps.classroom.access import PauseNotice
from apps.core.errors import NotFound
from apps.core.keyed_digest import keyed_digest, matches
from apps.orders.models import Gift, Order

_SALT = "orders.instalments"


class PlanNotFound(NotFound):
    message = "El enlace no es válido o ha caducado."


def plan_token(order: Order) -> str:
    """The token that opens this order's plan without signing in.

    It is an HMAC of the order's id, recovery token and address, and is not stored, so that a link
    ends with a change of the address. The recovery token itself opens nothing once the order is
    paid (docs/decisions/0016-orders-open-by-token.md).
    """
    return keyed_digest(_SALT, _named(order))


def _named(order: Order) -> str:
    return f"{order.pk}:{order.idempotency_id}:{order.email.lower()}"


def plan_url(order: Order) -> str:
    """The path of the plan's page, with its token."""
    return f"{reverse('plazos')}?pedido={order.pk}&clave={plan_token(order)}"


def open_plan(*, order_id: int, token: str) -> Order:
    """The order with this id. Raises PlanNotFound for a wrong token or without instalments."""
    order = Order.objects.filter(pk=order_id).first()
    if order is None or not matches(_SALT, _named(order), token) or not order.instalments.exists():
        raise PlanNotFound
    return order


def overdue_pause_notice(order_id: int) -> PauseNotice:
    """The classroom's notice for an order with an overdue instalment."""
    order = Order.objects.get(pk=order_id)
    if Gift.objects.filter(order=order).exists():
        # The plan is the buyer's: the recipient of a gift gets no link to it.
        return PauseNotice(
            "El regalo con estas asignaturas está en pausa. Volverá en cuanto se resuelva con "
            "quien te lo hizo.",
            url=f"{reverse('home')}#contacto",
            label="Escribirnos",
        )
    return PauseNotice(
        "Tienes un plazo sin pagar, y por eso el acceso a estas asignaturas está en pausa. "
        "Volverá en cuanto lo pagues.",
        url=plan_url(order),
        label="Pagar el plazo",
    )

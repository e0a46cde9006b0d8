from typing import TYPE_CHECKING

from apps.core.errors import AcademyError, NotFound

if TYPE_CHECKING:
    from apps.orders.models import Payment


class OrderNotFound(NotFound):
    message = "Orden no encontrada o enlace inválido"


class PriceChanged(AcademyError):
    """The client's total is not ours. `total_amount` and `lines` say what it is."""

    status = 409
    code = "price_changed"
    message = "El precio ha cambiado. Revisa el nuevo total antes de pagar."


class Unavailable(AcademyError):
    """`items` lists what can't be bought: subject_id, lesson_id, name."""

    status = 409
    code = "unavailable"
    message = "Algo de tu carrito ya no está disponible."


class AlreadyBought(AcademyError):
    """The signed-in student owns `items` (subject_id, lesson_id, name) already.

    Sent again with `buy_again` it is taken. Nobody else gets this answer: what an address owns is
    told to the address alone, by e-mail.
    """

    status = 409
    code = "already_bought"
    message = "Ya has comprado algo de tu carrito."


class InstalmentsUnavailable(AcademyError):
    status = 400
    code = "instalments_unavailable"
    message = "Esta compra no se puede pagar a plazos."


class PaymentInProgress(AcademyError):
    status = 409
    code = "payment_in_progress"
    message = "Ya hay un pago en curso para este pedido. Espera a que tu banco lo confirme."


class AlreadyPaid(AcademyError):
    status = 409
    code = "already_paid"
    message = "Este pedido ya está pagado."


class FriendCodeReserved(Exception):
    """Another cart of the buyer holds a friend's code with an open payment.

    The caller cancels that payment at the provider, which gives the code back, and tries again.
    """

    def __init__(self, payment: "Payment") -> None:
        self.payment = payment


class OpenPaymentInTheWay(Exception):
    """The order changed while a payment for its former content is open.

    The caller cancels that payment at the provider and tries again.
    """

    def __init__(self, payment: "Payment") -> None:
        self.payment = payment

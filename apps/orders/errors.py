from typing import TYPE_CHECKING

from apps.core.errors import AcademyError, NotFound

if TYPE_CHECKING:
    from apps.orders.models import Payment


class OrderNotFound(NotFound):
    message = "Orden no encontrada o enlace inválido"


class CartChanged(AcademyError):
    """The cart has another address than that to which its link was mailed."""

    status = 410
    code = "cart_changed"
    message = "Después de enviarte este enlace se cambió el correo del carrito."


class PriceChanged(AcademyError):
    """The client's total differs from the server's. The answer has the new total and lines."""

    status = 409
    code = "price_changed"
    message = "El precio ha cambiado. Revisa el nuevo total antes de pagar."


class FriendDiscountLost(PriceChanged):
    """The price has changed because the buyer of a quote may not use its friend code."""


class Unavailable(AcademyError):
    """Some items can't be bought. `items` lists them: subject_id, lesson_id, name."""

    status = 409
    code = "unavailable"
    message = "Algo de tu carrito ya no está disponible."


class AlreadyBought(AcademyError):
    """The signed-in student has already bought `items` (subject_id, lesson_id, name).

    A checkout with `buy_again` is accepted. A visitor who is not signed in never gets this answer:
    what an address has bought is disclosed to that address only, by e-mail
    (docs/decisions/0023-earlier-purchases-are-disclosed-by-email-only.md).
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


class PaidByTransfer(PaymentInProgress):
    """The order waits for a bank transfer. A card payment beside it would be a second payment."""

    message = "Este pedido se paga por transferencia. Para pagarlo con otro medio, escríbenos."


class ExchangeIsFixed(AcademyError):
    """What was paid for the line that is exchanged pays this content of the order, and no other."""

    status = 409
    code = "exchange_fixed"
    message = (
        "Este pedido es el cambio de un curso y se paga tal como está. Para comprar otra cosa, haz "
        "un pedido nuevo."
    )


class RenewalIsFixed(AcademyError):
    """A renewal has one price for what it renews, and no price for a part of it."""

    status = 409
    code = "renewal_fixed"
    message = (
        "Esta renovación se paga entera, tal como está. Si quieres renovar solo una parte, "
        "escríbenos y lo vemos contigo."
    )


class OrderIsPersonal(AcademyError):
    """The price of the order is for its student alone: it takes no other address, and no gift."""

    status = 409
    code = "order_is_personal"
    message = (
        "El precio de este pedido es solo para su alumno: se paga con su correo y no se puede "
        "regalar. Para otra persona, haz un pedido nuevo."
    )


class OrderAwaitsApproval(AcademyError):
    """A second person has not approved the order's discount: no price of it holds yet."""

    status = 409
    code = "order_awaits_approval"
    message = (
        "La academia está revisando el precio de este pedido. Te escribiremos en cuanto puedas "
        "pagarlo."
    )


class TransferIsPersonal(OrderIsPersonal):
    """Another mailbox was told how to transfer for the order, and may have done so."""

    message = (
        "Ya hemos enviado a un correo cómo pagar este pedido por transferencia. Para otro correo, "
        "o para un regalo, haz un pedido nuevo."
    )


class GiftChanged(AcademyError):
    """The page shows another recipient of the gift than the order has now."""

    status = 409
    code = "gift_changed"
    message = (
        "Quien recibe esta compra ha cambiado desde que abriste la página. No se ha cobrado nada: "
        "recarga la página y comprueba para quién es."
    )


class AlreadyPaid(AcademyError):
    status = 409
    code = "already_paid"
    message = "Este pedido ya está pagado."


class CodeReserved(Exception):
    """Another cart of the buyer has reserved a code and has an open payment.

    The caller cancels that payment at the provider, which releases the code, and retries. If that
    payment can't be canceled, it raises `in_use`.
    """

    def __init__(self, payment: "Payment", in_use: type[AcademyError]) -> None:
        self.payment, self.in_use = payment, in_use


class OpenPaymentInTheWay(Exception):
    """The order changed while a payment for its old content is open.

    The caller cancels that payment at the provider and retries.
    """

    def __init__(self, payment: "Payment") -> None:
        self.payment = payment

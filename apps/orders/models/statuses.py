"""The statuses of orders, instalments, payments, refunds and rewards, and every named set of them.

A set that more than one module uses has a name here.
"""

from django.db import models


class OrderStatus(models.TextChoices):
    CART = "cart", "Carrito"
    PAYING = "paying", "Pagando a plazos"
    OVERDUE = "overdue", "Plazo vencido"
    PAID = "paid", "Pagado"
    PARTIALLY_REFUNDED = "partially_refunded", "Devuelto en parte"
    REFUNDED = "refunded", "Devuelto"
    EXPIRED = "expired", "Caducado"


# The word for an expired order that staff have canceled.
CANCELED_BY_STAFF = "Anulado"
# No payment has succeeded.
UNPAID = (OrderStatus.CART, OrderStatus.EXPIRED)
# Instalments are still to be charged.
PLAN_RUNNING = (OrderStatus.PAYING, OrderStatus.OVERDUE)
# Paid in full or in part, and nothing refunded.
ACTIVE = (OrderStatus.PAID, *PLAN_RUNNING)
# Paid in full or in part, and not refunded in full: a refund changes what was bought.
SOLD = (*ACTIVE, OrderStatus.PARTIALLY_REFUNDED)
# The recipient of a gift may get what is left of the order.
DELIVERABLE = (OrderStatus.PAID, OrderStatus.PAYING, OrderStatus.PARTIALLY_REFUNDED)
# Changed by a refund: no payment is expected any more.
CHANGED_BY_REFUND = (OrderStatus.PARTIALLY_REFUNDED, OrderStatus.REFUNDED)
# Paid at some time, whatever was refunded since.
EVER_PAID = (*SOLD, OrderStatus.REFUNDED)


class InstalmentStatus(models.TextChoices):
    DUE = "due", "Pendiente"
    PAID = "paid", "Pagado"
    FAILED = "failed", "Rechazado"
    # Canceled together with the plan, by a refund or a lost dispute.
    CANCELED = "canceled", "Anulado"


# These instalments are still to be paid.
INSTALMENT_UNPAID = (InstalmentStatus.DUE, InstalmentStatus.FAILED)
# Nothing more is to be paid for these instalments.
INSTALMENT_SETTLED = (InstalmentStatus.PAID, InstalmentStatus.CANCELED)


class AttemptKind(models.TextChoices):
    AUTOMATIC = "automatic", "Cobro automático"
    BY_HAND = "by_hand", "Pago del alumno"


class AttemptOutcome(models.TextChoices):
    # Recorded before the provider is called. The answer is not known yet.
    STARTED = "started", "Sin confirmar"
    OPEN = "open", "Abierto"
    PROCESSING = "processing", "En proceso"
    SUCCEEDED = "succeeded", "Cobrado"
    REFUSED = "refused", "Rechazado"
    # The provider has no payment for it, or has canceled the payment: no money moved.
    VOID = "void", "Sin efecto"


# An automatic charge with one of these outcomes may still succeed.
ATTEMPT_UNSETTLED = (AttemptOutcome.STARTED, AttemptOutcome.PROCESSING)


class RefusalKind(models.TextChoices):
    """Why a saved card was not charged. `payments.stripe.declines` maps Stripe's codes to these."""

    INSUFFICIENT_FUNDS = "insufficient_funds", "Sin saldo suficiente"
    EXPIRED_CARD = "expired_card", "Tarjeta caducada"
    CARD_MISSING = "card_missing", "Sin tarjeta guardada"
    AUTHENTICATION = "authentication", "El banco pide al alumno que confirme"
    PERMANENT = "permanent", "La tarjeta ya no admite cobros"
    OTHER = "other", "Rechazada por el banco"


# After these refusals the same card is not charged again.
CARD_UNUSABLE = (
    RefusalKind.EXPIRED_CARD,
    RefusalKind.CARD_MISSING,
    RefusalKind.AUTHENTICATION,
    RefusalKind.PERMANENT,
)


class PaymentStatus(models.TextChoices):
    OPEN = "open", "Abierto"
    PROCESSING = "processing", "En proceso"
    SUCCEEDED = "succeeded", "Cobrado"
    CANCELED = "canceled", "Anulado"


class PaymentKind(models.TextChoices):
    """How a payment is made. An open payment is a card's until the provider says otherwise."""

    CARD = "card", "Tarjeta"
    # Apple Pay, Google Pay, Link and what else the provider's account has.
    WALLET = "wallet", "Cartera digital"
    BIZUM = "bizum", "Bizum"
    PAYPAL = "paypal", "PayPal"
    TRANSFER = "transfer", "Transferencia"
    FREE = "free", "Sin coste"
    # Paid with what was paid for a line of another order, which was exchanged for this one.
    CREDIT = "credit", "Cambio de otro pedido"
    SAMPLE = "sample", "De ejemplo"


# The provider has no payment of these kinds.
WITHOUT_PROVIDER = (PaymentKind.TRANSFER, PaymentKind.FREE, PaymentKind.CREDIT)
# Staff make refunds of these payments at their bank.
REFUNDED_BY_HAND = (PaymentKind.TRANSFER, PaymentKind.CREDIT)
# The provider can be asked about payments of these kinds.
AT_PROVIDER = (PaymentKind.CARD, PaymentKind.WALLET, PaymentKind.BIZUM, PaymentKind.PAYPAL)

# The payment can still succeed at the provider.
PAYMENT_OPEN = (PaymentStatus.OPEN, PaymentStatus.PROCESSING)


class RefundStatus(models.TextChoices):
    REQUESTED = "requested", "Pedida"
    PENDING = "pending", "En camino"
    SUCCEEDED = "succeeded", "Devuelta"
    # Rejected by the provider (then it has no reference), or sent back by the buyer's bank.
    FAILED = "failed", "Fallida"
    # Sent back by the bank, and paid to the buyer by other means, such as a transfer.
    OUTSIDE = "outside", "Devuelta por otra vía"
    # The money pays another order, for which a line of this one was exchanged.
    CREDITED = "credited", "Pasada a otro pedido"


# Refunds whose amount counts as refunded.
REFUND_COUNTED = (RefundStatus.REQUESTED, RefundStatus.PENDING, RefundStatus.SUCCEEDED)
# Refunds that gave the buyer the money's worth without the provider.
REFUND_ELSEWHERE = (RefundStatus.OUTSIDE, RefundStatus.CREDITED)


class DisputeStatus(models.TextChoices):
    OPEN = "open", "Abierta"
    WON = "won", "Ganada"
    LOST = "lost", "Perdida"


# The bank holds the money, or has given it back to the cardholder.
DISPUTE_HELD = (DisputeStatus.OPEN, DisputeStatus.LOST)


class PromoUseStatus(models.TextChoices):
    RESERVED = "reserved", "Reservado"
    USED = "used", "Usado"
    RELEASED = "released", "Liberado"


# These uses count against the code's limit.
PROMO_USE_HELD = (PromoUseStatus.RESERVED, PromoUseStatus.USED)


class RewardStatus(models.TextChoices):
    HELD = "held", "Retenida"
    OWED = "owed", "Por pagar"
    PAID = "paid", "Pagada"
    CANCELED = "canceled", "Anulada"


class EventKind(models.TextChoices):
    """The kind of an entry in an order's history. Code branches on it, never on the text."""

    CREATED = "created", "Pedido creado"
    CHANGED = "changed", "Pedido cambiado"
    MADE_BY_STAFF = "made_by_staff", "Pedido hecho por el equipo"
    EDITED = "edited", "Pedido editado por el equipo"
    APPROVED = "approved", "Aprobado por otra persona"
    APPROVAL_REFUSED = "approval_refused", "Rechazado por otra persona"
    APPROVAL_ASKED = "approval_asked", "Espera aprobación otra vez"
    PAYMENT_WAY_CHANGED = "payment_way_changed", "Forma de pago cambiada"
    EXCHANGED = "exchanged", "Cambio de curso"
    TRANSFER_CHOSEN = "transfer_chosen", "Transferencia elegida"
    TRANSFER_RECEIVED = "transfer_received", "Transferencia recibida"
    EXPIRED = "expired", "Pedido caducado"
    # By staff: the order's status is "expired", and `StaffOrder.canceled_at` is set.
    CANCELED = "canceled", "Pedido anulado"
    ERASED = "erased", "Datos personales borrados"
    ATTENDED = "attended", "Aviso atendido"
    MAIL_RESENT = "mail_resent", "Correo enviado otra vez"
    EMAIL_CHANGED = "email_changed", "Correo cambiado"
    CORRECTION_ASKED = "correction_asked", "Correo por confirmar"
    CALLED = "called", "Llamada al comprador"
    LINK_OPENED = "link_opened", "Abierto con el enlace del carrito"
    STUDENTS_MERGED = "students_merged", "Alumnos unidos"
    ACCESS_RETRIED = "access_retried", "Acceso intentado otra vez"
    GIFT_DELIVERED = "gift_delivered", "Regalo entregado"
    GIFT_CANCELED = "gift_canceled", "Regalo anulado"
    GIFT_OWNED_BEFORE = "gift_owned_before", "Regalo que ya tenía"
    GIFT_CHANGED = "gift_changed", "Regalo cambiado"
    REMINDERS_STOPPED = "reminders_stopped", "No quiere más avisos"
    PAID = "paid", "Pago confirmado"
    PAYMENT_DECLINED = "payment_declined", "El banco ha rechazado el pago"
    PAYMENT_CANCELED = "payment_canceled", "Pago anulado"
    PAYMENT_MISFIT = "payment_misfit", "Pago que no encaja"
    OFFER_CHANGED = "offer_changed", "Pagado con condiciones que ya habían cambiado"
    PAYMENT_LATE = "payment_late", "Pago de un pedido caducado"
    PAYMENT_AFTER_END = "payment_after_end", "Pago tras anular los plazos"
    BOUGHT_TWICE = "bought_twice", "Comprado dos veces"
    PAYMENT_UNMATCHED = "payment_unmatched", "Pago de otro cliente"
    CODE_USE_RELEASED = "code_use_released", "Pagado con la reserva del código ya liberada"
    FRIEND_CODE_MISUSED = "friend_code_misused", "Código de amigo que no correspondía"
    QUOTE_ALREADY_USED = "quote_already_used", "Presupuesto usado en otro pedido"
    CARD_REFUSED = "card_refused", "Tarjeta rechazada"
    TOO_MANY_ATTEMPTS = "too_many_attempts", "Demasiados intentos de pago"
    CARD_CHANGED = "card_changed", "Tarjeta cambiada"
    CHARGE_REFUSED = "charge_refused", "Cobro de un plazo rechazado"
    CHARGE_AGAIN = "charge_again", "Cobrar otra vez un plazo"
    INSTALMENTS_PAID = "instalments_paid", "Plazos pagados"
    OVERDUE = "overdue", "Plazo vencido"
    PLAN_CANCELED = "plan_canceled", "Plazos anulados"
    REFUND_REQUESTED = "refund_requested", "Devolución pedida"
    REFUND_REJECTED = "refund_rejected", "Devolución rechazada"
    REFUNDED = "refunded", "Devolución hecha"
    REFUND_EXCEEDS = "refund_exceeds", "Devuelto de más"
    REFUND_INCOMPLETE = "refund_incomplete", "Devolución incompleta"
    REFUND_SENT_BACK = "refund_sent_back", "Devolución que el banco no aceptó"
    REFUND_OUTSIDE = "refund_outside", "Devuelto por otra vía"
    DISPUTE_OPENED = "dispute_opened", "Disputa abierta"
    DISPUTE_WON = "dispute_won", "Disputa ganada"
    DISPUTE_LOST = "dispute_lost", "Disputa perdida"
    REWARD_EARNED = "reward_earned", "Recompensa ganada"
    REWARD_WITHHELD = "reward_withheld", "Sin recompensa"
    REWARD_CANCELED = "reward_canceled", "Recompensa anulada"
    REWARD_PAID = "reward_paid", "Recompensa pagada"
    REWARD_PAID_BEFORE_REFUND = "reward_paid_before_refund", "Recompensa pagada antes de devolver"

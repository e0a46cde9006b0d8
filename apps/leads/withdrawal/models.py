from datetime import date, datetime, timedelta

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.timezone import make_aware

from apps.core.dates import midnight, today
from apps.leads.withdrawal.statement import Statement
from apps.orders.models import Order
from apps.orders.withdrawal_link import last_day_to_withdraw

# Article 107 of the Spanish consumer law (TRLGDCU): the days to refund, counted from the statement.
DAYS_TO_REFUND = 14
# The moment before each later statement, in Spanish time.
MOMENT = "%d/%m/%Y %H:%M:%S"
# Between the contract's key and the number of its case, if a case was full.
PART = ":"


class WithdrawalQuerySet(models.QuerySet["Withdrawal"]):
    def open(self) -> "WithdrawalQuerySet":
        """Cases without a decision. A refund of everything decides them (`receivers`).

        An order may also be refunded by an exchange, of which the consumer gets no money.
        """
        return self.filter(status=Withdrawal.Status.OPEN)

    def overdue(self) -> "WithdrawalQuerySet":
        """Open cases whose last day for the refund is over."""
        return self.open().filter(
            received_at__lt=midnight(today() - timedelta(days=DAYS_TO_REFUND))
        )


class Withdrawal(models.Model):
    """A consumer's statement of withdrawal, and what staff decided about it.

    The texts are as typed. `order` is set if the number and the address belong together, or by
    staff: that of another mailbox only by who may refund.
    """

    class Status(models.TextChoices):
        OPEN = "open", "Por resolver"
        REFUNDED = "refunded", "Devuelto"
        DECLINED = "declined", "No procede"

    name = models.CharField("nombre", max_length=120)
    email = models.EmailField("correo", max_length=254)
    email_identity = models.CharField(max_length=254, editable=False)
    order_number = models.CharField("pedido que indica", max_length=12, blank=True)
    details = models.TextField("lo que indica", max_length=500, blank=True)
    # Further statements about the same contract that say something else, each with its date.
    later_statements = models.TextField("declaraciones posteriores", blank=True, default="")
    # What identifies the contract: the number, or a digest of the text. With the address it makes
    # repeated statements one case.
    contract_key = models.CharField(max_length=64, editable=False)
    order = models.ForeignKey(
        Order,
        models.SET_NULL,
        null=True,
        blank=True,
        related_name="withdrawals",
        verbose_name="pedido",
    )
    # Whether the acknowledgement was queued. The budget of the mailbox may withhold it.
    acknowledged = models.BooleanField("acuse enviado", default=False, editable=False)
    received_at = models.DateTimeField("recibido", default=timezone.now)
    status = models.CharField("estado", max_length=10, choices=Status.choices, default=Status.OPEN)
    # What the consumer is told if the case is declined.
    answer = models.TextField(
        "respuesta al cliente",
        max_length=2000,
        blank=True,
        default="",
        db_default="",
        help_text="Se envía por correo al marcarlo como «No procede».",
    )
    note = models.TextField("nota interna", blank=True)
    resolved_at = models.DateTimeField("resuelto", null=True, blank=True)

    objects = WithdrawalQuerySet.as_manager()

    class Meta:
        verbose_name = "desistimiento"
        verbose_name_plural = "desistimientos"
        ordering = ("-received_at", "-pk")
        constraints = (
            # Erasing a person's data empties the identity.
            models.UniqueConstraint(
                fields=("email_identity", "contract_key"),
                condition=~Q(email_identity=""),
                name="withdrawal_once_per_contract",
            ),
        )
        indexes = (
            models.Index(fields=("status", "-received_at"), name="withdrawal_by_status"),
            models.Index(fields=("received_at", "id"), name="withdrawal_by_day"),
        )

    def __str__(self) -> str:
        return f"Desistimiento n.º {self.pk}"

    @property
    def is_first(self) -> bool:
        """Whether this is the first case of its contract. A full one is followed by another."""
        return PART not in self.contract_key

    @property
    def statements(self) -> list[Statement]:
        """The first statement and the later ones. Name and text of a later one are in one line."""
        lines = self.later_statements.splitlines()
        of_case = {"email": self.email, "order_number": self.order_number}
        later = [
            Statement(
                name="",
                details=text,
                received_at=make_aware(datetime.strptime(moment, MOMENT)),
                **of_case,
            )
            for moment, text in zip(lines[::2], lines[1::2], strict=False)
        ]
        first = Statement(
            name=self.name, details=self.details, received_at=self.received_at, **of_case
        )
        return [first, *later]

    @property
    def refund_by(self) -> date:
        """The last day for the refund, if the withdrawal is justified."""
        return timezone.localdate(self.received_at) + timedelta(days=DAYS_TO_REFUND)

    @property
    def in_time(self) -> bool | None:
        """Whether it was sent within the withdrawal period. None without a paid order."""
        if self.order is None or self.order.paid_at is None:
            return None
        return timezone.localdate(self.received_at) <= last_day_to_withdraw(self.order.paid_at)

"""An order whose access is a gift for somebody else (docs/rules.md, "Gifts")."""

from django.db import models
from django.db.models import Q

from apps.orders.models.order import Order
from apps.orders.models.statuses import EventKind
from apps.students.models import Student

NAME_LENGTH = 60
MESSAGE_LENGTH = 500


class GiftQuerySet(models.QuerySet["Gift"]):
    def waiting(self) -> "GiftQuerySet":
        return self.filter(status=Gift.Status.WAITING)

    def corrected(self) -> "GiftQuerySet":
        """Gifts that staff have changed. Their buyers are not told the address of today."""
        return self.filter(order__events__kind=EventKind.GIFT_CHANGED)


class Gift(models.Model):
    """Who gets the access of an order instead of its buyer, and from which day on.

    Names and message are texts that the buyer typed. `recipient` is the student with the access,
    from the delivery on. The address is empty after its erasure, and in an order that was made
    again from its payment, until staff type it.
    """

    class Status(models.TextChoices):
        WAITING = "waiting", "Por entregar"
        DELIVERED = "delivered", "Entregado"
        CANCELED = "canceled", "Anulado"

    order = models.OneToOneField(Order, models.CASCADE, related_name="gift", verbose_name="pedido")
    sender = models.CharField("de parte de", max_length=NAME_LENGTH, blank=True)
    recipient_name = models.CharField(
        "nombre de quien lo recibe", max_length=NAME_LENGTH, blank=True
    )
    recipient_email = models.EmailField("correo de quien lo recibe", max_length=254, blank=True)
    message = models.TextField("mensaje", max_length=MESSAGE_LENGTH, blank=True)
    deliver_on = models.DateField("día de entrega")
    status = models.CharField(
        "estado", max_length=10, choices=Status.choices, default=Status.WAITING, editable=False
    )
    recipient = models.ForeignKey(
        Student,
        models.PROTECT,
        null=True,
        blank=True,
        editable=False,
        related_name="gifts",
        verbose_name="alumno que lo ha recibido",
    )
    delivered_at = models.DateTimeField("entregado el", null=True, blank=True, editable=False)
    created_at = models.DateTimeField("creado", auto_now_add=True)

    objects = GiftQuerySet.as_manager()

    class Meta:
        verbose_name = "regalo"
        verbose_name_plural = "regalos"
        ordering = ("-created_at",)
        indexes = (
            models.Index(
                fields=("deliver_on",), condition=Q(status="waiting"), name="gift_waiting"
            ),
        )

    def __str__(self) -> str:
        # Without names and address: who may not see a gift reads which rows forbid a deletion.
        return f"Regalo del pedido {self.order_id}"

    @property
    def address_for_buyer(self) -> str:
        """The recipient's address, or an empty string if its buyer may not have typed it."""
        is_corrected = Gift.objects.filter(pk=self.pk).corrected().exists()
        return "" if is_corrected else self.recipient_email

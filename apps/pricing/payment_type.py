from django.db import models


class PaymentType(models.TextChoices):
    """How an order is paid; the values are those of the API."""

    FULL = "full_payment", "Pago completo"
    INSTALMENTS = "installment", "A plazos"

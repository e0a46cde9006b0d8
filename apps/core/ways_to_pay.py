"""The ways to pay that the shop takes, and how its texts name them."""

from django.conf import settings
from django.db import models

CARD = "tarjeta de crédito o débito"
STRIPE_FIRST = "Actívalo antes en el panel de Stripe, en «Métodos de pago»."


class TakesPayments(models.Model):
    """The switches of the ways to pay: those that are on are offered and named on the site.

    A new shop begins with all of them. A shop that is older than the switches begins without,
    because its account at Stripe may lack them.
    """

    bizum = models.BooleanField(
        "Bizum",
        default=True,
        db_default=False,
        help_text=f"Se ofrece al pagar, no a plazos. {STRIPE_FIRST}",
    )
    paypal = models.BooleanField(
        "PayPal",
        default=True,
        db_default=False,
        help_text=f"Se ofrece al pagar, no a plazos. {STRIPE_FIRST}",
    )
    transfer = models.BooleanField(
        "transferencia",
        default=True,
        db_default=False,
        help_text="Se ofrece al pagar, no a plazos, si hay cuenta para recibirlas (TRANSFER_IBAN). "
        "Las apuntas cuando llegan.",
    )
    other_payments = models.CharField(
        "otros medios de pago",
        max_length=120,
        blank=True,
        default="",
        db_default="",
        help_text="Los que solo se aceptan por correo. Los nombran las preguntas frecuentes, los "
        "términos y el pago, que piden escribir al correo de soporte. Vacío: no se nombra ninguno.",
    )

    class Meta:
        abstract = True

    @property
    def optional_methods(self) -> tuple[str, ...]:
        """The switched-on methods by Stripe's names, in the order in which they are offered."""
        switches = {"bizum": self.bizum, "paypal": self.paypal}
        return tuple(name for name, is_on in switches.items() if is_on)

    @property
    def takes_transfers(self) -> bool:
        """Whether buyers may choose a transfer: there must be an account for it."""
        return self.transfer and bool(settings.TRANSFER_IBAN)

    @property
    def payment_methods(self) -> str:
        """The ways to pay on the site, in words: "tarjeta de crédito o débito, Bizum o PayPal"."""
        names = {
            "transferencia bancaria": self.takes_transfers,
            "Bizum": self.bizum,
            "PayPal": self.paypal,
        }
        *first, last = [CARD, *(name for name, is_on in names.items() if is_on)]
        return f"{', '.join(first)} o {last}" if first else last

    @property
    def payments_by_request(self) -> str:
        """The sentence about ways to pay that staff have to arrange. Empty if there are none."""
        if not self.other_payments:
            return ""
        address = getattr(self, "support_email", "")
        return f"También aceptamos {self.other_payments}: escríbenos a {address} y te decimos cómo."

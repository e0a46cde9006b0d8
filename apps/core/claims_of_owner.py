"""The owner's statements about the academy on its pages (`apps.pages.claims`)."""

from django.db import models


class HasClaims(models.Model):
    teachers_count = models.PositiveSmallIntegerField(
        "profesores",
        default=16,
        db_default=16,
        help_text="Cuántos sois. Si en «Profesores» hay más fichas, cuentan las fichas.",
    )
    average_grade_note = models.CharField(
        "nota media: escala y curso",
        max_length=60,
        default="sobre 10, curso 2024-2025",
        db_default="sobre 10, curso 2024-2025",
    )
    other_payments = models.CharField(
        "otros medios de pago",
        max_length=120,
        default="transferencia bancaria, Bizum o PayPal",
        db_default="transferencia bancaria, Bizum o PayPal",
        help_text="Además de la tarjeta. Los nombran las preguntas frecuentes, los términos y el "
        "pago, que piden escribir al correo de soporte.",
    )

    class Meta:
        abstract = True

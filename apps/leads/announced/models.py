from django.db import models

from apps.catalogue.models import University


class UniversityNotice(models.Model):
    """A mailbox that waits for a university, once it is confirmed. Unsubscribing deletes it."""

    university = models.ForeignKey(
        University, models.CASCADE, related_name="notices", verbose_name="universidad"
    )
    email = models.EmailField("correo", max_length=254)
    # The mailbox, in which "+tag" and the like do not count.
    email_identity = models.CharField(max_length=254, editable=False, db_index=True)
    asked_at = models.DateTimeField("pedido el", auto_now_add=True)
    confirmed_at = models.DateTimeField("confirmado el", null=True, blank=True)
    told_at = models.DateTimeField("avisado el", null=True, blank=True)

    class Meta:
        verbose_name = "aviso de una universidad"
        verbose_name_plural = "avisos de universidades"
        ordering = ("-asked_at", "-pk")
        constraints = (
            models.UniqueConstraint(
                fields=("university", "email_identity"), name="university_notice_once"
            ),
        )
        indexes = (
            models.Index(fields=("-asked_at", "-id"), name="university_notice_by_day"),
            models.Index(
                fields=("university",),
                condition=models.Q(confirmed_at__isnull=False, told_at__isnull=True),
                name="university_notice_waiting",
            ),
        )

    def __str__(self) -> str:
        # Without the address: who may not see the row reads which rows forbid a deletion.
        return f"Aviso {self.pk}: {self.university}"

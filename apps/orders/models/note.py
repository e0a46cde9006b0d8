"""Notes of staff about an order, with a day to come back to it."""

from django.db import models
from django.db.models import Q

from apps.core.dates import today
from apps.orders.models.order import Order


class OrderNoteQuerySet(models.QuerySet["OrderNote"]):
    def waiting(self) -> "OrderNoteQuerySet":
        """Notes with a day that nobody has ticked off."""
        return self.filter(due_on__isnull=False, done_at=None)

    def due(self) -> "OrderNoteQuerySet":
        """Notes whose day has come."""
        return self.waiting().filter(due_on__lte=today())


class OrderNote(models.Model):
    """A note of staff about an order. With `due_on` it waits until somebody ticks it off."""

    order = models.ForeignKey(Order, models.CASCADE, related_name="notes", verbose_name="pedido")
    text = models.CharField("nota", max_length=1000)
    due_on = models.DateField("volver el", null=True, blank=True)
    # Names, which stay after the accounts are deleted.
    actor = models.CharField("quién", max_length=150)
    created_at = models.DateTimeField("escrita", auto_now_add=True)
    done_at = models.DateTimeField("hecha", null=True, blank=True)
    done_by = models.CharField("hecha por", max_length=150, blank=True)
    # Made up by the form, so that a second click adds no second note.
    form_key = models.UUIDField(unique=True, editable=False)

    objects = OrderNoteQuerySet.as_manager()

    class Meta:
        verbose_name = "nota"
        verbose_name_plural = "notas"
        ordering = ("due_on", "pk")
        indexes = (
            models.Index(
                fields=("due_on",), condition=Q(done_at=None), name="order_note_waiting_by_day"
            ),
        )

    def __str__(self) -> str:
        return f"Nota {self.pk}"

"""Rewards that students earn with a friend's first order."""

from django.db import models
from django.db.models import Q

from apps.orders.models.order import PRICE, Order
from apps.orders.models.statuses import RewardStatus
from apps.pricing.models import PromoCode
from apps.students.models import Student


class ReferralReward(models.Model):
    """A student's reward for a friend's first order: held for 30 days, then owed, then paid.

    One for each order and for each friend. Only `orders.rewards.service` changes its status.
    """

    Status = RewardStatus

    student = models.ForeignKey(
        Student, models.PROTECT, related_name="referral_rewards", verbose_name="alumno"
    )
    friend = models.ForeignKey(Student, models.PROTECT, related_name="+", verbose_name="amigo")
    order = models.OneToOneField(
        Order, models.PROTECT, related_name="referral_reward", verbose_name="pedido del amigo"
    )
    promo_code = models.ForeignKey(
        PromoCode, models.PROTECT, related_name="rewards", verbose_name="código"
    )
    amount = models.DecimalField("importe (€)", **PRICE)
    status = models.CharField(
        "estado", max_length=10, choices=Status.choices, default=Status.HELD, editable=False
    )
    created_at = models.DateTimeField("ganada", auto_now_add=True)
    held_until = models.DateTimeField("retenida hasta")
    owed_at = models.DateTimeField("por pagar desde", null=True, blank=True)
    paid_at = models.DateTimeField("pagada el", null=True, blank=True)
    # The clerk's name instead of their account, because the account may be deleted later.
    paid_by = models.CharField("pagada por", max_length=150, blank=True)
    canceled_at = models.DateTimeField("anulada el", null=True, blank=True)
    cancel_reason = models.CharField("motivo de la anulación", max_length=200, blank=True)

    class Meta:
        verbose_name = "recompensa por amigo"
        verbose_name_plural = "recompensas por amigos"
        ordering = ("-created_at",)
        permissions = (
            ("pay_referralreward", "Puede dar recompensas por pagadas"),
            ("export_referralreward", "Puede exportar recompensas"),
        )
        constraints = (
            models.UniqueConstraint(
                fields=("friend",),
                condition=~Q(status="canceled"),
                name="one_reward_per_friend",
            ),
            models.CheckConstraint(condition=Q(amount__gt=0), name="reward_positive"),
            models.CheckConstraint(
                condition=~Q(student=models.F("friend")), name="reward_not_for_oneself"
            ),
            models.CheckConstraint(
                condition=~Q(status__in=("owed", "paid")) | Q(owed_at__isnull=False),
                name="reward_owed_since",
            ),
            models.CheckConstraint(
                condition=(Q(status="paid") & Q(paid_at__isnull=False) & ~Q(paid_by=""))
                | (~Q(status="paid") & Q(paid_at__isnull=True) & Q(paid_by="")),
                name="reward_paid_by_whom",
            ),
            models.CheckConstraint(
                condition=Q(status="canceled", canceled_at__isnull=False)
                | (~Q(status="canceled") & Q(canceled_at__isnull=True)),
                name="reward_canceled_when",
            ),
        )
        indexes = (
            models.Index(fields=("status", "held_until"), name="reward_by_status"),
            models.Index(fields=("created_at", "id"), name="reward_by_day"),
        )

    def __str__(self) -> str:
        # Without the student: who may not delete a code reads which rows forbid it.
        return f"Recompensa por {self.order}"

from dataclasses import dataclass

from apps.pricing.instalments import InstalmentPlan
from apps.pricing.payment_type import PaymentType


@dataclass(frozen=True)
class SaleTerms:
    """The numbers of the sale, as the price rules and texts take them. Amounts are in cents.

    The defaults are those of a new shop. `apps.pricing.reads.current_terms` has those in force.
    """

    # (complete subjects, discount): the highest tier that the cart reaches counts.
    volume: tuple[tuple[int, int], ...] = (
        (2, 15_00),
        (3, 45_00),
        (4, 70_00),
        (5, 90_00),
        (6, 110_00),
    )
    full_payment_percent: int = 5
    # The price of a subject in a budget for which no subject is chosen yet.
    unit_base_price_cents: int = 240_00
    # What a friend code takes off the friend's first purchase.
    invited_cents: int = 15_00
    # What the calculator takes off for each friend that the visitor will invite, up to a maximum.
    invitee_cents: int = 20_00
    invitee_max: int = 8
    # The reward of a friend code's owner depends on how the friend pays.
    reward_full_payment_cents: int = 25_00
    reward_instalments_cents: int = 20_00
    instalment_count: int = 3
    instalment_every_days: int = 20
    instalment_minimum_total_cents: int = 30_00
    # The personal code that the discount form sends by mail.
    discount_code_percent: int = 5
    discount_code_days: int = 30
    # How long the price of a quote of the calculator binds.
    quote_days: int = 14
    # What buying again costs before and after access ends, of the price of the day; 0: not sold.
    renewal_percent: int = 0
    # Whether students who have lessons of a subject pay the rest of its price for the whole.
    lesson_credit: bool = False
    # Hours after which a buyer who agreed is reminded of an unpaid cart; none: never.
    reminder_hours: tuple[int, ...] = (24, 72)

    @property
    def plan(self) -> InstalmentPlan:
        """The instalment plan of new orders. An order keeps the plan that it was sold with."""
        return InstalmentPlan(self.instalment_count, self.instalment_every_days)

    def volume_discount_cents(self, subjects: int) -> int:
        """Return the fixed discount for this number of complete subjects."""
        return max((cents for tier, cents in self.volume if subjects >= tier), default=0)

    @property
    def least_subject_cents(self) -> int:
        """The least price with which a complete subject makes no cart cheaper.

        A subject takes off one step of the volume discount, and the first one a friend code, too.
        Campaigns are left aside: they take off a part of each price.
        """
        counts = range(2, max((tier for tier, _ in self.volume), default=0) + 1)
        steps = (self.volume_discount_cents(n) - self.volume_discount_cents(n - 1) for n in counts)
        most = max(self.invited_cents + self.volume_discount_cents(1), *steps, 0)
        return -(-most * 100 // (100 - self.full_payment_percent))

    def reward_cents(self, payment_type: PaymentType) -> int:
        """Return what a friend's order paid in this way earns the owner of its friend code."""
        if payment_type == PaymentType.INSTALMENTS:
            return self.reward_instalments_cents
        return self.reward_full_payment_cents

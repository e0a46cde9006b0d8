from dataclasses import dataclass


@dataclass(frozen=True)
class InstalmentPlan:
    """How many payments a total is divided into, and how many days lie between two of them."""

    count: int
    every_days: int

    def split(self, total_cents: int) -> tuple[int, ...]:
        """Return equal amounts in cents. The remainder of the division is added to the first."""
        share, remainder = divmod(total_cents, self.count)
        return (share + remainder, *[share] * (self.count - 1))

    def days_until(self, number: int) -> int:
        """Return the days from the first payment to payment `number`; the first is number 1."""
        return (number - 1) * self.every_days

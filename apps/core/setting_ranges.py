"""The range of every numeric setting (docs/rules.md, "Checks at start").

A value outside is a typing error, such as a negative limit or a time-out of 0.
"""

from django.conf import settings

# name: (lowest, highest)
RANGES: dict[str, tuple[float, float]] = {
    "TRUSTED_PROXIES": (0, 10),
    "REFUSED_CARDS_PER_MINUTE": (1, 100_000),
    # 0: before every page.
    "PAGE_CACHE_POLL_SECONDS": (0, 60),
    # 3 mails are kept for sign-in links.
    "MAILS_PER_RECIPIENT": (4, 1_000),
    # Stripe cancels an unpaid PaymentIntent of its own accord after a day.
    "OPEN_PAYMENT_MINUTES": (5, 1_440),
    "STRIPE_TIMEOUT": (1, 120),
    "STRIPE_REQUEST_SECONDS": (1, 120),
    "STRIPE_MAX_WAITING": (1, 100),
    "STRIPE_BREAKER_FAILURES": (1, 1_000),
    "STRIPE_BREAKER_SECONDS": (1, 3_600),
    "MOODLE_MAILDISPLAY": (0, 2),
    "MOODLE_STUDENT_ROLE": (1, 1_000_000),
    # 0: the age of backups is not watched.
    "BACKUP_MAX_AGE_HOURS": (0, 8_760),
    # 0: the room on the disk is not watched.
    "DISK_MIN_FREE_MB": (0, 1_000_000),
    "ATTACHMENTS_MAX_MB": (10, 1_000_000),
    # 0: nobody refunds in the admin.
    "REFUND_DAILY_LIMIT": (0, 1_000_000),
    # 0: nobody records a transfer.
    "TRANSFER_DAILY_LIMIT": (0, 1_000_000),
}


def range_problems() -> list[str]:
    """One Spanish sentence for each setting outside its range."""
    return [
        f"{name} solo admite de {lowest} a {highest}."
        for name, (lowest, highest) in RANGES.items()
        # Written so that "nan" is a problem.
        if not lowest <= getattr(settings, name) <= highest
    ]

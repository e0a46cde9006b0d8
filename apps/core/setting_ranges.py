"""The ranges of numeric settings (docs/rules.md, "Checks at start").

A value outside is a typing error, such as a negative limit or a time-out of 0. Settings of payments
and of the classroom have their ranges in the `checks.py` of these apps.
"""

from collections.abc import Mapping

from django.conf import settings

# name: (lowest, highest)
RANGES: dict[str, tuple[float, float]] = {
    "TRUSTED_PROXIES": (0, 10),
    # 0: before every page.
    "PAGE_CACHE_POLL_SECONDS": (0, 60),
    # 3 mails are kept for sign-in links.
    "MAILS_PER_RECIPIENT": (4, 1_000),
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


def range_problems(ranges: Mapping[str, tuple[float, float]]) -> list[str]:
    """One Spanish sentence for each setting outside its range."""
    return [
        f"{name} solo admite de {lowest} a {highest}."
        for name, (lowest, highest) in ranges.items()
        # Written so that "nan" is a problem.
        if not lowest <= getattr(settings, name) <= highest
    ]

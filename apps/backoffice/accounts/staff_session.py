"""How long staff stay signed in (docs/rules.md, "Staff")."""

import logging
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import logout
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_login_failed
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from apps.core.staff.fresh_password import note_password
from apps.core.web.throttle import visitor_in_log

LONGEST = timedelta(hours=12)
IDLE = timedelta(hours=2)
# The time of last use is written to the session at most this often.
NOTED_EVERY = timedelta(minutes=1)
SIGNED_IN_AT = "staff_signed_in_at"
SEEN_AT = "staff_seen_at"

logger = logging.getLogger(__name__)


@receiver(user_logged_in)
def begin(sender: Any, request: HttpRequest, user: User, **kwargs: Any) -> None:
    """Store the time of a sign-in, which also counts as the time of a fresh password."""
    now = timezone.now()
    request.session[SIGNED_IN_AT] = request.session[SEEN_AT] = now.isoformat()
    # Cookie and row expire after the longest session even if this module fails to end it.
    request.session.set_expiry(int(LONGEST.total_seconds()))
    note_password(request)
    logger.info("Staff signed in: account %s from %s", user.pk, visitor_in_log(request))


@receiver(user_login_failed)
def log_failure(
    sender: Any, credentials: dict[str, Any], request: HttpRequest | None = None, **kwargs: Any
) -> None:
    """Log a wrong password. Names are not logged: they are addresses or mistyped passwords."""
    name = credentials.get("username") or ""
    user = User.objects.filter(username=name).first()
    logger.warning(
        "Staff sign-in refused: %s from %s",
        f"account {user.pk}" if user else "unknown name",
        visitor_in_log(request),
    )


def end_if_over(request: HttpRequest) -> None:
    """End a staff session that is too old or was idle for too long. Otherwise store its use."""
    if not request.user.is_authenticated:
        return
    now = timezone.now()
    signed_in, seen = (_noted(request, key) for key in (SIGNED_IN_AT, SEEN_AT))
    if signed_in is None or seen is None or now - signed_in > LONGEST or now - seen > IDLE:
        logout(request)
    elif now - seen > NOTED_EVERY:
        request.session[SEEN_AT] = now.isoformat()


def _noted(request: HttpRequest, key: str) -> datetime | None:
    noted = request.session.get(key)
    return datetime.fromisoformat(noted) if noted else None

"""The second factor of staff accounts: who needs one, and checking its codes.

The rules are in docs/rules.md, "Staff".
"""

from typing import Any, cast

from django.conf import settings
from django.contrib.auth.models import Permission, User
from django.db import transaction
from django.http import HttpRequest
from django_otp import login as mark_verified
from django_otp import verify_token

from apps.backoffice.accounts.staff_powers import powers_of
from apps.backoffice.models import Authenticator, BackupCodes

# No permission of these models shows what customers do, moves money, gives discounts or grants
# permissions. Every other permission asks for a second factor, so a new model does until somebody
# adds it here.
OPEN_MODELS = frozenset({
    "catalogue.catalogueupload", "catalogue.degree", "catalogue.lesson", "catalogue.pricebatch",
    "catalogue.pricechange", "catalogue.stalecount", "catalogue.subject", "catalogue.university",
    "classroom.moodlecourse", "classroom.semester", "core.heartbeat", "core.legaltext",
    "core.scheduledjob", "leads.answertemplate", "pages.faq", "pages.institution",
    "pages.lessonsample", "pages.priceplan", "pages.redirect", "pages.teammember",
    "pages.testimonial",
    "pricing.campaign",
})  # fmt: skip
# Exceptions: permissions of an open model that ask for a second factor.
GUARDED = frozenset({
    "catalogue.change_vat", "catalogue.export_catalogue", "classroom.check_moodle",
})  # fmt: skip
# In the session: the authenticator app that it is setting up.
_BEING_SET_UP = "authenticator_being_set_up"


def needs_second_factor(user: User) -> bool:
    """Whether this member of staff needs a second factor to work in the admin."""
    if not settings.REQUIRE_SECOND_FACTOR:
        return False
    return user.is_superuser or any(map(is_guarded, powers_of(user)))


def is_guarded(permission: Permission) -> bool:
    """Whether a permission asks for a second factor."""
    kind = permission.content_type
    name = f"{kind.app_label}.{permission.codename}"
    return name in GUARDED or f"{kind.app_label}.{kind.model}" not in OPEN_MODELS


def authenticator_of(user: User) -> Authenticator | None:
    """The authenticator app that this member of staff has set up."""
    return cast("Authenticator | None", _authenticators(user).first())


def _authenticators(user: User) -> Any:
    return Authenticator.objects.filter(user=user, confirmed=True)


def is_verified(request: HttpRequest) -> bool:
    """Whether the second factor was given in this session."""
    return getattr(request.user, "otp_device", None) is not None


def is_missing(request: HttpRequest) -> bool:
    """Whether the second factor has to be set up or given before anything else."""
    if is_verified(request):
        return False
    user = cast(User, request.user)
    return needs_second_factor(user) or _authenticators(user).exists()


def give(request: HttpRequest, code: str) -> bool:
    """Check a code of the authenticator app, or a backup code. The session stores the success."""
    device = device_of_code(cast(User, request.user), code)
    if device is None:
        return False
    # Change the session key against session fixation.
    request.session.cycle_key()
    mark_verified(request, device)
    return True


def device_of_code(user: User, code: str) -> Authenticator | BackupCodes | None:
    """The authenticator app or the backup codes that this code is of. The code is used up."""
    kind = Authenticator if code.isdecimal() else BackupCodes
    device = kind.objects.filter(user=user, confirmed=True).first()
    if device is None or verify_token(user, device.persistent_id, code) is None:
        return None
    return cast("Authenticator | BackupCodes", device)


def new_authenticator(request: HttpRequest) -> Authenticator:
    """The authenticator app that this session is setting up. It stays the same until confirmed.

    Each session has its own: a thief who opened the page with a stolen password must not know the
    key that the owner's app gets afterwards.
    """
    user = cast(User, request.user)
    unconfirmed = Authenticator.objects.filter(user=user, confirmed=False)
    found = unconfirmed.filter(pk=request.session.get(_BEING_SET_UP)).first()
    if found is None:
        unconfirmed.delete()
        found = Authenticator.objects.create(user=user, confirmed=False, name="teléfono")
        request.session[_BEING_SET_UP] = found.pk
    return cast(Authenticator, found)


def confirm(request: HttpRequest, code: str) -> list[str] | None:
    """Replace the old authenticator app by the new one, and return new backup codes.

    Returns None, and changes nothing, if the code is wrong or another session was faster.
    """
    user = cast(User, request.user)
    with transaction.atomic():
        # If two sessions set up an app at once, the second one finds that of the first.
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        if authenticator_of(user) is not None and not is_verified(request):
            return None
        device = new_authenticator(request)
        if verify_token(user, device.persistent_id, code) is None:
            return None
        Authenticator.objects.filter(user=user).exclude(pk=device.pk).delete()
        Authenticator.objects.filter(pk=device.pk).update(confirmed=True)
        codes = renew_backup_codes(user)
    del request.session[_BEING_SET_UP]
    request.session.cycle_key()
    mark_verified(request, device)
    return codes


@transaction.atomic
def renew_backup_codes(user: User) -> list[str]:
    """Replace the backup codes by new ones. Only their digests are stored, so show them at once."""
    BackupCodes.objects.filter(user=user).delete()
    return cast(BackupCodes, BackupCodes.objects.create(user=user, name="papel")).renew()


def remove(user: User) -> None:
    """Remove the second factor of a member of staff who has lost their phone and backup codes."""
    Authenticator.objects.filter(user=user).delete()
    BackupCodes.objects.filter(user=user).delete()

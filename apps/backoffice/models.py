"""The second factor of staff, and the takings of days that are over.

Authenticator apps and backup codes are devices of django-otp whose secrets are not in the database:
the key of the codes is derived under SECRET_KEY from a random value that is stored, and backup
codes are stored as digests.
"""

import time
from typing import Any

from django.conf import settings
from django.db import models
from django_otp.oath import TOTP
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from apps.core.keyed_digest import keyed_digest, keyed_digests
from apps.core.random_codes import random_code

_KEY_SALT = "backoffice.authenticator"
_CODE_SALT = "backoffice.backup-codes"
# Pauses are 1, 2, 4… seconds: 512 after ten wrong codes, and no longer after more.
MOST_COUNTED_FAILURES = 10
# The length of the key that RFC 4226 recommends, and of django-otp's column for codes.
_KEY_BYTES, _STORED_LENGTH = 20, 16
BACKUP_CODES, CODE_LENGTH = 10, 10
# The most characters of a saved view's name and query string.
LONGEST_NAME, LONGEST_QUERY = 60, 500


class _CappedPause:
    """Caps the pause after wrong codes, which doubles with each and would reach years."""

    throttling_failure_count: int

    def verify_is_allowed(self) -> Any:
        self.throttling_failure_count = min(self.throttling_failure_count, MOST_COUNTED_FAILURES)
        return super().verify_is_allowed()  # type: ignore[misc]  # of django-otp's devices


class Authenticator(_CappedPause, TOTPDevice):
    """An app on a phone that shows a code of six digits every 30 seconds (RFC 6238)."""

    class Meta:
        proxy = True
        verbose_name = "aplicación de códigos"
        verbose_name_plural = "aplicaciones de códigos"

    _secret_in_use = ""

    @property
    def bin_key(self) -> bytes:
        """The key that the app has."""
        digest = self._secret_in_use or keyed_digest(_KEY_SALT, self.key)
        return bytes.fromhex(digest)[:_KEY_BYTES]

    def verify_token(self, token: str) -> bool:
        """Check a code, also of an app that was set up before a change of SECRET_KEY."""
        for digest in keyed_digests(_KEY_SALT, self.key):
            self._secret_in_use = digest
            if self._fits(token):
                break
        else:
            self._secret_in_use = ""
        return bool(super().verify_token(token))

    def _fits(self, token: str) -> bool:
        clock = TOTP(self.bin_key, self.step, self.t0, self.digits, self.drift)
        clock.time = time.time()
        is_number = token.isascii() and token.isdecimal() and len(token) == self.digits
        return is_number and bool(clock.verify(int(token), self.tolerance))


class BackupCodes(_CappedPause, StaticDevice):
    """Codes on paper, each for one sign-in without the authenticator app."""

    class Meta:
        proxy = True
        verbose_name = "códigos de reserva"
        verbose_name_plural = "códigos de reserva"

    def renew(self) -> list[str]:
        """Replace the codes and return the new ones, which are shown once."""
        self.token_set.all().delete()
        codes = [random_code("", CODE_LENGTH) for _ in range(BACKUP_CODES)]
        for code in codes:
            self.token_set.create(token=keyed_digest(_CODE_SALT, code)[:_STORED_LENGTH])
        half = CODE_LENGTH // 2
        return [f"{code[:half]}-{code[half:]}" for code in codes]

    def verify_token(self, token: str) -> bool:
        code = "".join(sign for sign in token.upper() if sign.isalnum())
        stored = [digest[:_STORED_LENGTH] for digest in keyed_digests(_CODE_SALT, code)]
        unused_code = self.token_set.filter(token__in=stored).first()
        return bool(super().verify_token(unused_code.token if unused_code else stored[0]))


class DayTakings(models.Model):
    """The takings of one day in Madrid that is over, so that "Hoy" need not add them up again.

    Only `today.stored_takings` reads and writes these rows. The sums are empty when the day must be
    added up again.
    """

    day = models.DateField(primary_key=True)
    paid_cents = models.BigIntegerField(null=True)
    refunded_cents = models.BigIntegerField(null=True)
    # Orders that were paid on the day after a reminder of the cart: their number and totals.
    recovered_cents = models.BigIntegerField(null=True)
    # How often a payment, refund or order of the day has changed since the day was over.
    changes = models.PositiveIntegerField(default=0, db_default=0)

    class Meta:
        verbose_name = "recaudación de un día"
        verbose_name_plural = "recaudación por días"

    def __str__(self) -> str:
        return f"{self.day}"


class SavedView(models.Model):
    """Filters of a list that a member of staff has named, and finds above the list again.

    `changelist` is the name of the list, such as "orders_order". `query` has only filters that the
    list allows, and no search, which may name a person.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.CASCADE, related_name="saved_views", verbose_name="quién"
    )
    changelist = models.CharField("lista", max_length=80)
    name = models.CharField("nombre", max_length=LONGEST_NAME)
    query = models.CharField("filtros", max_length=LONGEST_QUERY)

    class Meta:
        verbose_name = "vista"
        verbose_name_plural = "vistas"
        ordering = ("name",)
        # Everybody has their own, and no page shows those of others.
        default_permissions = ()
        constraints = (
            models.UniqueConstraint(
                fields=("user", "changelist", "name"), name="saved_view_once_per_name"
            ),
        )

    def __str__(self) -> str:
        return self.name

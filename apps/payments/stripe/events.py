"""Signed events that Stripe sends to the webhook."""

import hashlib
import json
import math
import re
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import stripe
from django.conf import settings

from apps.core.errors import AcademyError

# The kind of a signed body that is not an event: a list, or an object without `id`, `type` or
# `data`, or a body that the database can't store.
UNREADABLE = "unreadable"
MOST_ID_CHARACTERS = 255
MOST_KIND_CHARACTERS = 60
# Events of Stripe have about ten levels of objects and lists.
MOST_LEVELS = 100
# JSON can escape NUL and lone surrogates. PostgreSQL stores neither.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


@dataclass(frozen=True)
class SignedEvent:
    """An event whose signature is valid. Its content is as received and not verified."""

    event_id: str
    kind: str
    livemode: bool
    payload: dict[str, Any]


class RefusedBecause(StrEnum):
    """Why a request to the webhook is refused, for the log and the monitor."""

    NO_SIGNATURE = "no-signature"
    WRONG_SECRET = "wrong-secret"  # noqa: S105
    TOO_OLD = "too-old"
    NO_JSON = "no-json"


class BadSignature(AcademyError):
    code = "bad_signature"
    message = "La firma del evento no es válida."

    def __init__(self, reason: RefusedBecause) -> None:
        super().__init__()
        self.reason = reason


def read_event(body: bytes, signature: str) -> SignedEvent:
    """Check the signature of a webhook body and read the event in it.

    A signed body that is not an event becomes an event of kind `unreadable`. Its id is a digest of
    the body, so that it is stored once like any other. A body that the database can't store as JSON
    is kept as text. Raises BadSignature for a wrong signature and for a body that is not JSON.
    """
    if not signature.isascii():
        # Stripe's library compares texts, which raises TypeError for other letters.
        raise BadSignature(RefusedBecause.WRONG_SECRET)
    try:
        _verify(body.decode(), signature)
        sent = json.loads(body)
    except stripe.SignatureVerificationError as error:
        raise BadSignature(_reason(body.decode(), signature)) from error
    except (ValueError, RecursionError) as error:
        raise BadSignature(RefusedBecause.NO_JSON) from error
    is_storable = _is_storable(sent, MOST_LEVELS)
    if is_storable and _is_event(sent):
        return SignedEvent(sent["id"], sent["type"], sent["livemode"], sent)
    digest = hashlib.sha256(body).hexdigest()
    kept = sent if is_storable else body.decode()
    return SignedEvent(f"{UNREADABLE}-{digest}", UNREADABLE, False, {"body": kept})


def _reason(body: str, signature: str) -> RefusedBecause:
    """Why a signature was refused. One that is only too old is right without a time limit."""
    if not signature:
        return RefusedBecause.NO_SIGNATURE
    with suppress(stripe.SignatureVerificationError):
        _verify(body, signature, tolerance=None)
        return RefusedBecause.TOO_OLD
    return RefusedBecause.WRONG_SECRET


def _verify(
    body: str, signature: str, tolerance: int | None = stripe.Webhook.DEFAULT_TOLERANCE
) -> None:
    """Raise SignatureVerificationError unless one of the secrets in use has signed the body."""
    for secret in settings.STRIPE_WEBHOOK_SECRET_FALLBACKS:
        with suppress(stripe.SignatureVerificationError):
            stripe.WebhookSignature.verify_header(body, signature, secret, tolerance)
            return
    current = settings.STRIPE_WEBHOOK_SECRET
    stripe.WebhookSignature.verify_header(body, signature, current, tolerance)


def _is_event(sent: Any) -> bool:
    """Whether a body has the fields that the shop reads from every event."""
    return (
        isinstance(sent, dict)
        and _is_text(sent.get("id"), MOST_ID_CHARACTERS)
        and _is_text(sent.get("type"), MOST_KIND_CHARACTERS)
        and isinstance(sent.get("livemode"), bool)
        and isinstance(sent.get("data"), dict)
        and isinstance(sent["data"].get("object"), dict)
        and _is_text(sent["data"]["object"].get("id"), MOST_ID_CHARACTERS)
    )


def _is_text(value: Any, most: int) -> bool:
    return isinstance(value, str) and 0 < len(value) <= most


def _is_storable(value: Any, levels: int) -> bool:
    """Whether the database stores a value read from JSON. It may have `levels` nested lists."""
    if isinstance(value, str):
        return _UNSTORABLE.search(value) is None
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, dict):
        return _is_storable([*value, *value.values()], levels)
    if isinstance(value, list):
        return levels > 0 and all(_is_storable(inner, levels - 1) for inner in value)
    return True

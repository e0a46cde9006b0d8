"""Mails that a provider took and could not deliver, as its webhook says (docs/rules.md, "Mails").

django-anymail checks each provider's signature and reads its events: https://anymail.dev
"""

import logging
from http import HTTPStatus
from typing import Any

from anymail.exceptions import (  # type: ignore[import-untyped]
    AnymailConfigurationError,
    AnymailError,
    AnymailWebhookValidationFailure,
)
from anymail.signals import EventType, RejectReason  # type: ignore[import-untyped]
from django.conf import settings
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import Resolver404, resolve
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from apps.core.models import Mail

logger = logging.getLogger(__name__)

UNDELIVERED = (EventType.BOUNCED, EventType.REJECTED)
REASONS = {
    RejectReason.INVALID: "la dirección no existe",
    RejectReason.BOUNCED: "el servidor del destinatario lo ha devuelto",
    RejectReason.BLOCKED: "el servidor del destinatario lo ha bloqueado",
    RejectReason.SPAM: "el servidor del destinatario lo tiene por correo no deseado",
    RejectReason.UNSUBSCRIBED: "el destinatario se ha dado de baja en el proveedor",
    RejectReason.TIMED_OUT: "el servidor del destinatario no ha contestado",
}


# Each provider's reader raises what it meets first in a body of another shape.
_UNREADABLE = (
    AnymailConfigurationError, AnymailError, AttributeError, LookupError, RecursionError, TypeError,
    ValueError,
)  # fmt: skip


@csrf_exempt
@require_http_methods(["HEAD", "POST"])
def mail_events(request: HttpRequest) -> HttpResponse:
    """Take the events of the mail provider that is in use. Without its secret there is no page.

    Answers 400 to a wrong signature and to a body that is no event, and 503 to an event that may be
    about a mail that is being sent. Providers send it again then.
    """
    view = _provider_view()
    if view is None or not settings.ANYMAIL.get("WEBHOOK_SECRET"):
        raise Http404
    if request.method == "HEAD":  # Some providers look first whether the address exists.
        return HttpResponse()
    view.setup(request)
    try:
        # Some providers' signatures are in the body: their check reads it.
        view.run_validators(request)
        events = view.parse_events(request)
    except AnymailWebhookValidationFailure:
        # A wrong secret in the settings stops all events. The error may quote an address with it.
        raise BadRequest("A mail provider's event has a wrong secret or signature.") from None
    except _UNREADABLE:
        # Without its cause, which quotes the whole body of a stranger in the log.
        raise BadRequest("Not an event of the mail provider.") from None
    taken = [note_event(event) for event in events]
    return HttpResponse(status=HTTPStatus.OK if all(taken) else HTTPStatus.SERVICE_UNAVAILABLE)


def _provider_view() -> Any:
    """A view of django-anymail for the provider of EMAIL_BACKEND, or None."""
    package, _, rest = settings.EMAIL_BACKEND.partition(".backends.")
    if package != "anymail":
        return None
    try:
        match: Any = resolve(f"/{rest.partition('.')[0]}/tracking/", "anymail.urls")
    except Resolver404:
        return None
    return match.func.view_class(**match.func.view_initkwargs)


def note_event(event: Any) -> bool:
    """Mark the mail of an event as failed if it was not delivered. A repeated event does nothing.

    The mail is found by the provider's own id. Staff see it among the mails that wait for them.
    False if the event came too early: the provider knows the id before the row has it.
    """
    if event.event_type not in UNDELIVERED or not event.message_id:
        return True
    mails = Mail.objects.all()
    if event.recipient:
        mails = mails.filter(to__iexact=event.recipient)
    # Asked first: a mail that is finished between the two questions is found by the second one.
    is_being_sent = mails.filter(
        status=Mail.Status.QUEUED, leased_until__gt=timezone.now()
    ).exists()
    named = mails.filter(provider_id=str(event.message_id))
    reason = REASONS.get(event.reject_reason, "el proveedor no lo ha podido entregar")
    if named.filter(status=Mail.Status.SENT).update(
        status=Mail.Status.FAILED, last_error=f"No ha llegado: {reason}."
    ):
        logger.warning("A mail was not delivered: %s", event.event_type)
        return True
    return named.exists() or not is_being_sent

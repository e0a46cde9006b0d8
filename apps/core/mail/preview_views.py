"""The admin pages "Modelos de correo": a preview of every mail, rendered from sample data."""

from dataclasses import dataclass
from typing import Any

from csp.decorators import csp, csp_update
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.utils.text import capfirst
from django.views.decorators.clickjacking import xframe_options_sameorigin
from django.views.decorators.http import require_POST

from apps.core.errors import TooManyRequests
from apps.core.mail.delivery import compose, open_connection
from apps.core.mail.failure_words import failure_in_words
from apps.core.mail.outbox import new_message_id
from apps.core.mail.own_words import Words, version_of
from apps.core.mail.registry import RenderedMail, is_fixed, words_of
from apps.core.mail.samples import MailPreview, mail_preview, mail_previews, render_sample
from apps.core.models import SiteSettings
from apps.core.web.response_headers import NO_STORE
from apps.core.web.throttle import Limit

SAMPLE_SENDS = Limit("mail-sample", times=10, seconds=600)
# The last draft of a mail's words in the session of whoever writes it.
DRAFT = "mail_words_draft"
DARK = "(prefers-color-scheme: dark)"
SHOWN_HEADERS = (
    "From", "To", "Reply-To", "Subject", "Auto-Submitted", "List-Unsubscribe",
    "List-Unsubscribe-Post",
)  # fmt: skip
MODES = (("claro", "Claro"), ("oscuro", "Oscuro"))
WIDTHS = (("movil", "Móvil"), ("escritorio", "Escritorio"))

# The preview frame runs no script and loads no resource. Links open in a new window.
mail_frame = csp(
    {
        "default-src": ["'none'"],
        "style-src": ["'unsafe-inline'"],
        "img-src": ["'self'", "data:"],
        "frame-ancestors": ["'self'"],
        "sandbox": ["allow-popups"],
    }
)


@dataclass(frozen=True)
class Choice:
    """A link in a row of alternatives; one of them is the current page."""

    label: str
    url: str
    is_current: bool


def preview_urls(site: AdminSite) -> list[URLPattern]:
    def page(route: str, view: Any, name: str) -> URLPattern:
        checked: Any = site.admin_view(_require_mail_permission(view))
        pattern: URLPattern = path(f"modelos/{route}", checked, name=name)
        return pattern

    return [
        page("", _mails(site), "core_mail_samples"),
        page("<slug:template>/", _mail(site), "core_mail_sample"),
        page("<slug:template>/html/", _html, "core_mail_sample_html"),
        page("<slug:template>/prueba/", _send_to_me, "core_mail_sample_send"),
    ]


def _require_mail_permission(view: Any) -> Any:
    """Require the permission to read mails."""

    def checked(request: HttpRequest, **kwargs: Any) -> HttpResponse:
        if not request.user.has_perm("core.view_mail"):
            raise PermissionDenied
        answer: HttpResponse = view(request, **kwargs)
        return answer

    return checked


def _mails(site: AdminSite) -> Any:
    def view(request: HttpRequest) -> HttpResponse:
        site_settings = SiteSettings.current()
        mails = [
            {
                "preview": preview,
                "subject": render_sample(preview.template, next(iter(preview.samples()))).subject,
                "url": reverse("admin:core_mail_sample", args=[preview.template]),
                "has_own_words": bool(words_of(site_settings, preview.template)),
            }
            for preview in mail_previews()
        ]
        context = {**site.each_context(request), "title": "Modelos de correo", "mails": mails}
        return TemplateResponse(request, "core/mail_samples.html", context)

    return view


def _mail(site: AdminSite) -> Any:
    @csp_update({"frame-src": ["'self'"]})  # type: ignore[arg-type]  # its type has no arguments
    def view(request: HttpRequest, template: str) -> HttpResponse:
        preview = _preview(template)
        variant = _variant(request, preview)
        context = {
            **site.each_context(request),
            **_navigation(request.GET, preview, variant),
            **_sample_context(render_sample(template, variant)),
            "title": capfirst(preview.title),
            "is_fixed": is_fixed(template),
            "may_write": request.user.has_perm("core.change_mail_words"),
            "has_own_words": bool(words_of(SiteSettings.current(), template)),
        }
        return TemplateResponse(request, "core/mail_sample.html", context)

    return view


def _navigation(query: QueryDict, preview: MailPreview, variant: str) -> dict[str, Any]:
    """The preview, the links to its other forms, and the URL of its frame."""
    mode, width = query.get("modo", "claro"), query.get("ancho", "escritorio")
    frame = QueryDict(mutable=True)
    frame.update({"variante": variant, "modo": mode})
    frame_url = reverse("admin:core_mail_sample_html", args=[preview.template])
    return {
        "preview": preview,
        "variant": variant,
        "variants": _choices(query, "variante", [(v, v) for v in preview.samples()], variant),
        "modes": _choices(query, "modo", MODES, mode),
        "widths": _choices(query, "ancho", WIDTHS, width),
        "is_narrow": width == "movil",
        "frame_url": f"{frame_url}?{frame.urlencode()}",
    }


def _sample_context(mail: RenderedMail) -> dict[str, Any]:
    """Headers and text of the mail as it would be sent."""
    message = compose(
        mail, to="ana.ejemplo@example.com", message_id="<ejemplo>", written_at=timezone.now()
    )
    encoded = message.message()
    headers = [
        # The encoded subject is not readable.
        (name, mail.subject if name == "Subject" else encoded[name])
        for name in SHOWN_HEADERS
        if encoded[name]
    ]
    return {"headers": headers, "text": message.body}


def keep_draft(request: HttpRequest, template: str, words: Words) -> None:
    """Keep words that are not stored yet in the session, for the frame of their preview."""
    request.session[DRAFT] = {"template": template, "words": dict(words)}


@xframe_options_sameorigin
@mail_frame  # type: ignore[arg-type]
def _html(request: HttpRequest, template: str) -> HttpResponse:
    """The mail's HTML for the frame, light or dark regardless of the browser's preference.

    `borrador` is the version of a draft of its words (`keep_draft`).
    """
    variant = _variant(request, _preview(template))
    words = None
    if version := request.GET.get("borrador"):
        draft = request.session.get(DRAFT, {})
        words = draft.get("words") if draft.get("template") == template else None
        if words is None or version_of(words) != version:
            raise Http404("Este borrador ya no está: pide la vista previa otra vez.")
    mail = render_sample(template, variant, words)
    media = "all" if request.GET.get("modo") == "oscuro" else "not all"
    return HttpResponse(mail.html.replace(DARK, media), headers=NO_STORE)


@require_POST
def _send_to_me(request: HttpRequest, template: str) -> HttpResponse:
    """Send the sample to the signed-in clerk's own address only.

    It bypasses the outbox, so that the page shows the mail server's answer and no row is stored.
    """
    preview = _preview(template)
    variant = _variant(request, preview)
    level, text = _send_sample(request, render_sample(template, variant))
    messages.add_message(request, level, text)
    query = QueryDict(mutable=True)
    query["variante"] = variant
    return redirect(f"{reverse('admin:core_mail_sample', args=[template])}?{query.urlencode()}")


def _send_sample(request: HttpRequest, mail: RenderedMail) -> tuple[int, str]:
    address = getattr(request.user, "email", "")
    if not address:
        return messages.WARNING, "Tu usuario no tiene correo: ponlo primero en tu ficha."
    try:
        SAMPLE_SENDS.count_key(str(request.user.pk))
    except TooManyRequests as refusal:
        return messages.WARNING, refusal.message
    message = compose(mail, to=address, message_id=new_message_id(), written_at=timezone.now())
    message.subject = f"[Prueba] {mail.subject}"
    try:
        with open_connection() as connection:
            connection.send_messages([message])
    # The clerk is testing the mail server, so any error is shown.
    except Exception as error:
        meaning = failure_in_words(f"{type(error).__name__}: {error}")
        return messages.ERROR, f"El servidor de correo no lo ha aceptado: {error}. {meaning}"
    return messages.SUCCESS, f"Prueba enviada a {address}."


def _preview(template: str) -> MailPreview:
    preview = mail_preview(template)
    if preview is None:
        raise Http404("No hay ningún correo con ese nombre.")
    return preview


def _variant(request: HttpRequest, preview: MailPreview) -> str:
    """The requested variant, or the first one if it doesn't exist."""
    names = list(preview.samples())
    requested = request.POST.get("variante") or request.GET.get("variante", "")
    return requested if requested in names else names[0]


def _choices(query: QueryDict, name: str, options: Any, current: str) -> list[Choice]:
    choices = []
    for value, label in options:
        target = query.copy()
        target[name] = value
        choices.append(Choice(label, f"?{target.urlencode()}", value == current))
    return choices

"""The admin's page with the academy's own words of one mail (docs/rules.md, "Mails")."""

from collections.abc import Mapping
from typing import Any

from csp.decorators import csp_update
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.text import capfirst

from apps.core.mail.own_words import (
    OwnWordsForm,
    Words,
    WordsChanged,
    own_words,
    store_own_words,
    version_of,
)
from apps.core.mail.preview_views import keep_draft
from apps.core.mail.registry import is_fixed, texts_of
from apps.core.mail.samples import MailPreview, mail_preview, render_sample
from apps.core.models import SiteSettings
from apps.core.staff.admin_log import log_action
from apps.core.staff.fresh_password import fresh_password_required

CHANGED = (
    "Mientras escribías, otra persona ha guardado otros textos de este correo. Debajo de cada "
    "campo está lo que hay ahora. Si guardas otra vez, queda lo tuyo."
)

FIXED = "El texto de este correo es fijo: no se puede personalizar."


def mail_words_urls(site: AdminSite) -> list[URLPattern]:
    @csp_update({"frame-src": ["'self'"]})  # type: ignore[arg-type]  # its type has no arguments
    def view(request: HttpRequest, template: str) -> HttpResponse:
        if not request.user.has_perm("core.change_mail_words"):
            raise PermissionDenied
        preview = mail_preview(template)
        if preview is None:
            raise Http404("No hay ningún correo con ese nombre.")
        if is_fixed(template):
            messages.warning(request, FIXED)
            return redirect("admin:core_mail_sample", template)
        answer: HttpResponse = _page(request, site, preview)
        return answer

    page = site.admin_view(view)
    return [path("modelos/<slug:template>/texto/", page, name="core_mail_sample_words")]


@fresh_password_required
def _page(request: HttpRequest, site: AdminSite, preview: MailPreview) -> HttpResponse:
    """Show the form; sent, show a preview, store the words, or bring the original back.

    Nothing that was typed is lost if somebody else has stored other words of the mail.
    """
    stored = own_words(SiteSettings.current(), preview.template)
    form = _form(request, preview, stored)
    is_original = "original" in request.POST
    # The version of the words that are in the form. It stays through a preview.
    version = request.POST.get("version") or version_of(stored)
    draft: dict[str, Any] = {}
    if request.method == "POST" and (is_original or form.is_valid()):
        words = {} if is_original else form.words()
        if "preview" in request.POST:
            draft = _draft(request, preview, words)
        else:
            try:
                store_own_words(preview.template, words, version=version)
            except WordsChanged as change:
                form.add_error(None, CHANGED)
                stored, version = change.stored, version_of(change.stored)
                form.tell_stored(stored)
            else:
                return _stored(request, preview, words)
    context: dict[str, Any] = {
        **site.each_context(request),
        "title": capfirst(preview.title),
        "preview": preview,
        "form": form,
        "placeholders": [f"{{{name}}}" for name in form.offered],
        "version": version,
        "has_own_words": bool(stored),
        "variants": list(preview.samples()),
        "draft": draft,
    }
    return TemplateResponse(request, "core/mail_words.html", context)


def _form(request: HttpRequest, preview: MailPreview, stored: Words) -> OwnWordsForm:
    first = _first_variant(preview)
    form = OwnWordsForm(
        request.POST or None,
        texts=texts_of(preview.template),
        stored=stored,
        variables=preview.samples()[first],
    )
    usual = render_sample(preview.template, first, {}).subject
    form.fields["subject"].help_text = f"Si lo dejas vacío, vuelve el original: «{usual}»"
    return form


def _first_variant(preview: MailPreview) -> str:
    return next(iter(preview.samples()))


def _draft(request: HttpRequest, preview: MailPreview, words: Words) -> dict[str, Any]:
    """The mail with these words, for the variant that is asked for, and the URL of its frame."""
    asked = request.POST.get("variant", "")
    variant = asked if asked in preview.samples() else _first_variant(preview)
    keep_draft(request, preview.template, words)
    query = QueryDict(mutable=True)
    query.update({"variante": variant, "borrador": version_of(words)})
    frame = reverse("admin:core_mail_sample_html", args=[preview.template])
    mail = render_sample(preview.template, variant, words)
    return {"mail": mail, "variant": variant, "frame_url": f"{frame}?{query.urlencode()}"}


def _stored(request: HttpRequest, preview: MailPreview, words: Mapping[str, str]) -> HttpResponse:
    texts = ", ".join(f"«{text}»" for text in words.values()) or "el original"
    log_action(request, SiteSettings.current(), f"Correo «{preview.title}»: {texts}")
    done = "Guardado" if words else "Ha vuelto el texto original"
    messages.success(request, f"{done}: vale para los correos que salgan desde ahora.")
    return redirect("admin:core_mail_sample", preview.template)

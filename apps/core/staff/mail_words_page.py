"""The admin's page with the academy's own words of one mail (docs/rules.md, "Mails")."""

from typing import Any

from django.contrib import messages
from django.contrib.admin import AdminSite
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.text import capfirst

from apps.core.mail.own_words import OwnWords, OwnWordsForm, own_words, store_own_words
from apps.core.mail.samples import MailPreview, mail_preview
from apps.core.models import SiteSettings
from apps.core.staff.admin_log import log_action
from apps.core.staff.fresh_password import fresh_password_required


def mail_words_urls(site: AdminSite) -> list[URLPattern]:
    def view(request: HttpRequest, template: str) -> HttpResponse:
        if not request.user.has_perm("core.change_mail_words"):
            raise PermissionDenied
        preview = mail_preview(template)
        if preview is None:
            raise Http404("No hay ningún correo con ese nombre.")
        answer: HttpResponse = _page(request, site, preview)
        return answer

    page = site.admin_view(view)
    return [path("modelos/<slug:template>/texto/", page, name="core_mail_sample_words")]


@fresh_password_required
def _page(request: HttpRequest, site: AdminSite, preview: MailPreview) -> HttpResponse:
    """Show the form; sent, store the words, or bring the original back."""
    variables = next(iter(preview.samples().values()))
    stored = own_words(SiteSettings.current(), preview.template)
    form = OwnWordsForm(request.POST or None, initial=vars(stored), variables=variables)
    if request.method == "POST" and (form.is_valid() or "original" in request.POST):
        words = OwnWords() if "original" in request.POST else form.words()
        store_own_words(preview.template, words)
        log_action(
            request, SiteSettings.current(), f"Correo «{preview.title}»: {_words_in_quotes(words)}"
        )
        messages.success(request, "Guardado: vale para los correos que salgan desde ahora.")
        return redirect("admin:core_mail_sample", preview.template)
    context: dict[str, Any] = {
        **site.each_context(request),
        "title": capfirst(preview.title),
        "preview": preview,
        "form": form,
        "has_own_words": stored != OwnWords(),
    }
    return TemplateResponse(request, "core/mail_words.html", context)


def _words_in_quotes(words: OwnWords) -> str:
    said = [f"«{text}»" for text in (words.subject, words.paragraph) if text]
    return ", ".join(said) or "el original"

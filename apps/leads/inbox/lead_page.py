"""The page of one lead: what was sent, the conversation, and the forms to go on with it."""

from collections.abc import Callable, Sequence
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin.utils import unquote
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.decorators import method_decorator

from apps.core.errors import AcademyError
from apps.core.staff.admin_log import log_reading
from apps.core.staff.fresh_password import fresh_password_required
from apps.leads.inbox.contents import MAY_GIVE_CODE, MAY_ORDER, MAY_QUOTE, contents_of
from apps.leads.inbox.conversation import add_note, answer_lead, assign_lead, set_status
from apps.leads.inbox.convert import give_code, order_values, send_quote_to
from apps.leads.inbox.forms import (
    AnswerForm,
    CaseForm,
    CodeForm,
    NoteForm,
    QuoteForm,
    suggested_answer,
)
from apps.leads.models import AnswerTemplate, Lead, LeadEntry
from apps.orders.admin_pages.staff_order_pages import draft_address

View = Callable[..., HttpResponse]


class LeadPage:
    """The views of one lead's page. `model_admin` is the admin of leads."""

    def __init__(self, model_admin: Any) -> None:
        self._admin = model_admin

    def urls(self) -> list[URLPattern]:
        """The addresses that the page's forms are sent to, each with its permissions."""
        return [
            self._url("responder", "leads_lead_answer", ("leads.answer_lead",), self._answer),
            self._url("anotar", "leads_lead_note", ("leads.change_lead",), self._note),
            self._url("presupuesto", "leads_lead_quote", MAY_QUOTE, self._quote),
            self._url("codigo", "leads_lead_code", MAY_GIVE_CODE, self._code),
            self._url("pedido", "leads_lead_order", MAY_ORDER, self._order),
        ]

    def _url(self, ending: str, name: str, permissions: Sequence[str], view: View) -> URLPattern:
        def checked(request: HttpRequest, pk: int) -> HttpResponse:
            if not request.user.has_perms(permissions):
                raise PermissionDenied
            return view(request, self._lead(request, str(pk)))

        page: View = self._admin.admin_site.admin_view(checked)
        return path(f"<int:pk>/{ending}/", page, name=name)

    def _lead(self, request: HttpRequest, pk: str) -> Lead:
        lead: Lead | None = self._admin.get_object(request, unquote(pk))
        if lead is None:
            raise Http404
        if not self._admin.has_view_permission(request, lead):
            raise PermissionDenied
        return lead

    def show(self, request: HttpRequest, pk: str) -> HttpResponse:
        """The page; sent, the form with state and assignee."""
        lead = self._lead(request, pk)
        if request.method != "POST":
            return self._page(request, lead)
        if not self._admin.has_change_permission(request, lead):
            raise PermissionDenied
        form = self._case_form(request, lead, request.POST)
        if not form.is_valid():
            return self._page(request, lead, case_form=form)
        status = form.cleaned_data["status"]
        changes = []
        if "status" in form.changed_data and set_status(
            lead_id=lead.pk, status=status, author=request.user
        ):
            after = Lead.Status(status).label
            changes.append(f"Estado: «{lead.get_status_display()}» → «{after}».")
        if "assigned_to" in form.changed_data:
            assignee = form.cleaned_data["assigned_to"]
            if assign_lead(lead_id=lead.pk, assignee=assignee, author=request.user):
                before = lead.assigned_to or "nadie"
                changes.append(f"Asignada a: {before} → {assignee or 'nadie'}.")
        if not changes:
            return self._back(lead)
        return self._done(request, lead, " ".join(changes))

    def _answer(self, request: HttpRequest, lead: Lead) -> HttpResponse:
        form = AnswerForm(request.POST)

        def answer(data: dict[str, Any]) -> LeadEntry | None:
            return answer_lead(lead_id=lead.pk, author=request.user, **data)

        told = (f"Respuesta enviada a {lead.email}.", "Esa respuesta ya estaba enviada.")
        return self._add(request, lead, form, answer, name="answer_form", told=told)

    def _note(self, request: HttpRequest, lead: Lead) -> HttpResponse:
        form = NoteForm(request.POST)

        def note(data: dict[str, Any]) -> LeadEntry | None:
            body, key_id = data["note"], data["key_id"]
            return add_note(lead_id=lead.pk, author=request.user, body=body, key_id=key_id)

        told = ("Nota guardada.", "Esa nota ya estaba guardada.")
        return self._add(request, lead, form, note, name="note_form", told=told)

    def _add(
        self,
        request: HttpRequest,
        lead: Lead,
        form: forms.Form,
        work: Callable[[dict[str, Any]], LeadEntry | None],
        *,
        name: str,
        told: tuple[str, str],
    ) -> HttpResponse:
        """Add to the conversation what the form has, once.

        `name` is that of the form in the page, and `told` what is said of the first click and of a
        repeated one.
        """
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if form.is_valid():
            try:
                entry = work(form.cleaned_data)
            except AcademyError as error:
                form.add_error(None, error.message)
            else:
                if entry is not None:
                    return self._done(request, lead, told[0])
                messages.warning(request, told[1])
                return self._back(lead)
        return self._page(request, lead, **{name: form})

    def _quote(self, request: HttpRequest, lead: Lead) -> HttpResponse:
        site = self._admin.admin_site
        form = QuoteForm(site, request.POST) if request.method == "POST" else QuoteForm(site)
        if form.is_bound and form.is_valid():
            try:
                quote = send_quote_to(
                    lead_id=lead.pk,
                    budget=form.budget(),
                    author=request.user,
                    key_id=form.cleaned_data["key_id"],
                )
            except AcademyError as error:
                form.add_error(None, error.message)
            else:
                if quote is None:
                    messages.warning(request, "Ese presupuesto ya estaba enviado.")
                    return self._back(lead)
                return self._done(request, quote.lead, f"{quote} enviado a {quote.lead.email}.")
        return self._form_page(
            request, lead, form, title="Enviar un presupuesto", label="Enviar el presupuesto"
        )

    @method_decorator(fresh_password_required)
    def _code(self, request: HttpRequest, lead: Lead) -> HttpResponse:
        form = CodeForm(request.POST) if request.method == "POST" else CodeForm()
        if form.is_bound and form.is_valid():
            try:
                entry, is_new = give_code(lead_id=lead.pk, author=request.user, **form.cleaned_data)
            except AcademyError as error:
                form.add_error("percent", error.message)
            else:
                if is_new:
                    self._admin.log_change(request, lead, f"Código creado: {entry.body}")
                    messages.success(request, "Código creado. Envíaselo con tu respuesta.")
                else:
                    messages.warning(request, "Ese código ya estaba creado.")
                return redirect(f"{self._address(lead)}?codigo={entry.pk}#responder")
        return self._form_page(
            request, lead, form, title="Crear un código personal", label="Crear el código"
        )

    def _order(self, request: HttpRequest, lead: Lead) -> HttpResponse:
        """Open the form of a new order with this person's data."""
        log_reading(request, lead)
        return redirect(draft_address(request, order_values(lead)))

    def _form_page(
        self, request: HttpRequest, lead: Lead, form: forms.Form, *, title: str, label: str
    ) -> HttpResponse:
        log_reading(request, lead)
        context = {
            **self._admin.admin_site.each_context(request),
            "title": title,
            "opts": self._admin.opts,
            "lead": lead,
            "form": form,
            "media": self._admin.media + form.media,
            "label": label,
        }
        return TemplateResponse(request, "leads/convert.html", context)

    def _page(self, request: HttpRequest, lead: Lead, **bound: forms.Form) -> HttpResponse:
        log_reading(request, lead)
        user, admin = request.user, self._admin
        context = {
            **admin.admin_site.each_context(request),
            **contents_of(lead, user),
            "title": str(lead),
            "opts": admin.opts,
            "original": lead,
            "lead": lead,
            "has_change_permission": admin.has_change_permission(request, lead),
            "has_delete_permission": admin.has_delete_permission(request, lead),
            "answer_form": AnswerForm(initial=self._first_words(request, lead)),
            "templates": AnswerTemplate.objects.filter(active=True),
            "note_form": NoteForm(),
            "case_form": self._case_form(request, lead),
            **bound,
        }
        return TemplateResponse(request, "leads/lead.html", context)

    @staticmethod
    def _case_form(request: HttpRequest, lead: Lead, data: Any = None) -> CaseForm:
        may_assign = request.user.has_perm("leads.assign_lead")
        return CaseForm(lead, data, may_assign=may_assign)

    @staticmethod
    def _first_words(request: HttpRequest, lead: Lead) -> dict[str, str]:
        """What the answer begins with: the chosen template, or a greeting."""
        template = AnswerTemplate.objects.filter(pk=_number(request, "plantilla")).first()
        if template is not None:
            return {"subject": template.subject, "body": template.text_for(lead)}
        code = lead.entries.filter(pk=_number(request, "codigo"), kind=LeadEntry.Kind.CODE).first()
        return suggested_answer(lead, code)

    def _done(self, request: HttpRequest, lead: Lead, sentence: str) -> HttpResponse:
        """Log the change, without its text, and show the page again."""
        self._admin.log_change(request, lead, sentence)
        messages.success(request, sentence)
        return self._back(lead)

    def _back(self, lead: Lead) -> HttpResponse:
        return redirect(self._address(lead))

    @staticmethod
    def _address(lead: Lead) -> str:
        return reverse("admin:leads_lead_change", args=[lead.pk])


def _number(request: HttpRequest, name: str) -> int:
    """A row's number from the address; 0, which no row has, if it is none."""
    value = request.GET.get(name, "")
    return int(value) if value.isascii() and value.isdecimal() and len(value) < 19 else 0

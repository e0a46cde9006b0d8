"""What the page of a lead shows: facts, conversation, and links to what belongs to the person."""

from dataclasses import dataclass
from typing import Any

from django.template.defaultfilters import filesizeformat
from django.urls import reverse
from django.utils import timezone
from django.utils.timezone import localtime

from apps.core.identity import email_identity
from apps.core.models import Mail
from apps.core.staff.admin_base import money
from apps.leads.fields import LINES, OF_REQUEST, FormField
from apps.leads.inbox.first_answers import in_words
from apps.leads.models import Lead, LeadEntry, Quote, Withdrawal
from apps.students.models import Student

# The most rows of one kind that the page shows of the same person.
MOST_OTHERS = 5
# The most entries of a conversation that it shows: the newest.
MOST_SHOWN = 500


@dataclass(frozen=True)
class Fact:
    """A label with its value, which leads to `url` if that is not empty."""

    label: str
    value: str
    url: str = ""


@dataclass(frozen=True)
class ConversationEntry:
    """One entry of the conversation. `mail` is the mail that carried it, if any."""

    entry: LeadEntry
    mail: Mail | None

    @property
    def is_answer(self) -> bool:
        return self.entry.kind == LeadEntry.Kind.ANSWER

    @property
    def is_note(self) -> bool:
        return self.entry.kind == LeadEntry.Kind.NOTE


def contents_of(lead: Lead, user: Any) -> dict[str, Any]:
    """Template variables of the page. Links need the permission of the page they lead to."""
    return {
        "facts": [fact for fact in _facts(lead, user) if fact.value],
        "turns": _conversation(lead),
        "consents": lead.consents.select_related("legal_text"),
        "more": _more(lead, user),
        "conversions": _conversions(lead, user),
        "answer_time": _answer_time(lead),
    }


def _answer_time(lead: Lead) -> str:
    if lead.opened_by_staff:
        return "La ha abierto el equipo con otro presupuesto."
    if lead.answered_at:
        return f"Primera respuesta en {in_words(lead.answered_at - lead.created_at)}."
    return f"Sin respuesta desde hace {in_words(timezone.now() - lead.created_at)}."


def _facts(lead: Lead, user: Any) -> list[Fact]:
    """The fields that the visitor filled in, and what came of it. The heading has the name."""
    links = {"email": f"mailto:{lead.email}", "phone": f"tel:{lead.phone.replace(' ', '')}"}
    if request := getattr(lead, "subject_request", None):
        wanted = request.requested_subject_id
        links["subject_name"] = _link(user, "leads_requestedsubject", wanted)

    def fact(field: FormField) -> Fact:
        return Fact(field.label, field.shown(lead), links.get(field.name, ""))

    facts = [fact(field) for field in LINES if field.name != "name"]
    facts.append(Fact("Página", lead.page, lead.page))
    # A field with a link comes first: the subject, then its university.
    facts += [fact(field) for field in sorted(OF_REQUEST, key=lambda one: one.name not in links)]
    if attachment := getattr(lead, "attachment", None):
        url = reverse("admin:leads_attachment_download", args=[attachment.pk])
        size = filesizeformat(attachment.size)
        facts.append(Fact("Archivo", f"{attachment.original_name} ({size})", url))
    quote: Quote | None = getattr(lead, "quote", None)
    if quote is not None:
        url = _link(user, "leads_quote", quote.pk)
        facts.append(Fact("Presupuesto", f"{quote}: {money(quote.final_price)}", url))
    if lead.promo_code is not None:
        url = _link(user, "pricing_promocode", lead.promo_code.pk)
        facts.append(Fact("Código", lead.promo_code.code, url))
    return facts


def _link(user: Any, page: str, pk: int) -> str:
    app, _, model = page.partition("_")
    may_open = user.has_perm(f"{app}.view_{model}")
    return reverse(f"admin:{page}_change", args=[pk]) if may_open else ""


def _conversation(lead: Lead) -> list[ConversationEntry]:
    entries = list(lead.entries.order_by("-pk")[:MOST_SHOWN])[::-1]
    keys = [entry.mail_key for entry in entries if entry.kind == LeadEntry.Kind.ANSWER]
    mails = {mail.key: mail for mail in Mail.objects.filter(key__in=keys).defer("context")}
    return [ConversationEntry(entry, mails.get(entry.mail_key)) for entry in entries]


# Quotes and orders are for users who may see subjects: the others can't choose any.
MAY_QUOTE = ("leads.answer_lead", "catalogue.view_subject")
MAY_GIVE_CODE = ("leads.give_lead_code",)
MAY_ORDER = ("orders.add_stafforder", "catalogue.view_subject")


def _conversions(lead: Lead, user: Any) -> list[Fact]:
    """Links to the forms that make a quote, a code or an order of the lead."""
    ways = (
        ("Presupuesto", "quote", MAY_QUOTE),
        ("Código personal", "code", MAY_GIVE_CODE),
        ("Pedido", "order", MAY_ORDER),
    )
    return [
        Fact("", label, reverse(f"admin:leads_lead_{name}", args=[lead.pk]))
        for label, name, permissions in ways
        if user.has_perms(permissions)
    ]


def _more(lead: Lead, user: Any) -> list[Fact]:
    """Links to the student with this address, and to the other leads and withdrawals from it."""
    found = []
    student = Student.objects.with_email(lead.email)
    if student is not None and user.has_perm("students.view_student"):
        url = reverse("admin:students_student_change", args=[student.pk])
        found.append(Fact("Alumno", student.full_name or student.email, url))
    visible = Lead.objects.visible_to(user)
    others = visible.filter(email=lead.email).exclude(pk=lead.pk)[:MOST_OTHERS]
    found += [
        Fact(
            f"{other.get_kind_display()} ({other.get_status_display().lower()})",
            f"{localtime(other.created_at):%d/%m/%Y}",
            reverse("admin:leads_lead_change", args=[other.pk]),
        )
        for other in others
    ]
    if user.has_perm("leads.view_withdrawal"):
        cases = Withdrawal.objects.filter(email_identity=email_identity(lead.email))[:MOST_OTHERS]
        found += [
            Fact(
                f"{case} ({case.get_status_display().lower()})",
                f"{localtime(case.received_at):%d/%m/%Y}",
                reverse("admin:leads_withdrawal_change", args=[case.pk]),
            )
            for case in cases
        ]
    return found

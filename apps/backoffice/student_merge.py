"""The admin's page "Unir": the other student by address, what would move, and the merge."""

from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse

from apps.classroom.backends import current_classroom
from apps.classroom.models import Account, Enrolment
from apps.core.errors import AcademyError
from apps.core.input_fields import EmailFormField
from apps.core.models import Mail
from apps.core.privacy import counted
from apps.core.staff.admin_buttons import Repeated
from apps.core.staff.admin_log import log_action, log_reading
from apps.core.staff.fresh_password import fresh_password_required
from apps.leads.models import Lead
from apps.orders.by_staff.merge_students import (
    CannotMerge,
    loses_friend_code,
    merge_students,
    refuse_unsafe,
    rewards_between,
)
from apps.orders.models import Order, ReferralReward
from apps.pricing.models import PromoCode
from apps.students.models import Consent, Student

PERMISSION = "students.merge_student"


class OtherStudentForm(forms.Form):
    """Names the student who is merged into the one of the page."""

    email = EmailFormField(label="Correo del otro alumno", max_length=254)

    def clean_email(self) -> str:
        email = str(self.cleaned_data["email"])
        self.other = Student.objects.with_email(email)
        if self.other is None:
            raise forms.ValidationError("Ningún alumno tiene ese correo.")
        return email


@dataclass(frozen=True)
class Preview:
    """Spanish sentences about a merge: what moves, and what does not."""

    moves: list[str]
    stays: list[str]


def merge_page(request: HttpRequest, student_id: int, *, context: dict[str, Any]) -> HttpResponse:
    """Show the form, then what would move, then merge.

    It needs the permission to merge and a fresh password.
    """
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    answer: HttpResponse = _merge(request, student_id, context)
    return answer


@fresh_password_required
def _merge(request: HttpRequest, student_id: int, context: dict[str, Any]) -> HttpResponse:
    into = get_object_or_404(Student, pk=student_id)
    log_reading(request, into)
    context |= {"title": f"Unir otro alumno con {into}", "student": into, "opts": Student._meta}
    if "other" in request.POST:
        number = request.POST["other"]
        is_number = number.isdecimal() and len(number) <= 18
        other = get_object_or_404(Student, pk=int(number) if is_number else 0)
        try:
            _merge_and_log(request, other, into)
        except AcademyError as refusal:
            messages.error(request, refusal.message)
        return redirect("admin:students_student_change", into.pk)
    # The address is sent as a form: a page's address is written into logs and histories.
    form = OtherStudentForm(request.POST or None)
    context["form"] = form
    if form.is_valid() and form.other is not None:
        log_reading(request, form.other)
        try:
            refuse_unsafe(merged=form.other, into=into)
        except CannotMerge as refusal:
            form.add_error(None, refusal.message)
        else:
            context |= {"other": form.other, "preview": preview(merged=form.other, into=into)}
    return TemplateResponse(request, "backoffice/merge_students.html", context)


@transaction.atomic
def _merge_and_log(request: HttpRequest, other: Student, into: Student) -> None:
    """Merge, and log it on the pages of both students. A repeated click only says so."""
    if not merge_students(merged_id=other.pk, into_id=into.pk, actor=request.user.get_username()):
        messages.info(request, Repeated.message)
        return
    log_action(request, into, f"Unido: el alumno n.º {other.pk}, {other.email}")
    other.refresh_from_db()
    log_action(request, other, f"Unido con el alumno n.º {into.pk}")
    messages.success(request, "Alumnos unidos. El aula lo sabrá en unos segundos.")


def preview(*, merged: Student, into: Student) -> Preview:
    return Preview(moves=_moves(merged, into), stays=_stays(merged, into))


def _moves(merged: Student, into: Student) -> list[str]:
    former = list(merged.former_emails.values_list("email", flat=True))
    addresses = [merged.email, *former]
    codes = PromoCode.objects.filter(student=merged)
    if loses_friend_code(merged=merged, into=into):
        codes = codes.filter(is_referral_code=False)
    rewards = ReferralReward.objects.filter(student=merged).exclude(friend=into)
    counts = (
        (Order.objects.filter(student=merged), "pedido, con sus pagos, facturas y notas",
         "pedidos, con sus pagos, facturas y notas"),
        (codes, "código", "códigos"),
        (rewards, "recompensa", "recompensas"),
        (Enrolment.objects.filter(student=merged), "matrícula", "matrículas"),
        (Consent.objects.filter(student=merged), "consentimiento", "consentimientos"),
        (Mail.objects.filter(to__in=addresses), "correo enviado", "correos enviados"),
        (Lead.objects.filter(email__in=addresses), "contacto", "contactos"),
    )  # fmt: skip
    moved = [text for rows, one, many in counts for text in counted(rows.count(), one, many)]
    return [*moved, f"Quedan como correos anteriores: {', '.join(addresses)}"]


def _stays(merged: Student, into: Student) -> list[str]:
    sentences = [
        "Los dos reciben un correo, y se cierran las sesiones de los dos.",
        f"La ficha n.º {merged.pk} queda vacía y enlaza con esta. No se puede deshacer.",
        f"Valen el nombre, los apellidos y el teléfono de {into.email}. Solo lo que le falte se "
        f"toma de {merged.email}.",
    ]
    if loses_friend_code(merged=merged, into=into):
        sentences.append(f"El código de amigo de {merged.email} deja de servir: vale el otro.")
    between = len(rewards_between(merged=merged, into=into))
    sentences += [
        f"Se anula, porque invitó a su otra ficha: {text}."
        for text in counted(between, "recompensa", "recompensas")
    ]
    return sentences + _about_accounts(merged, into)


def _about_accounts(merged: Student, into: Student) -> list[str]:
    having = set(
        Account.objects.filter(student__in=(merged, into)).values_list("student", flat=True)
    )
    if merged.pk not in having:
        return []
    if into.pk not in having:
        return [f"La cuenta del aula de {merged.email} pasa a tener el correo {into.email}."]
    sentences = [f"La cuenta del aula de {merged.email} pierde su acceso, que pasa a la otra."]
    if platform := current_classroom().platform:
        sentences.append(f"La cuenta vacía sigue en {platform}; borrarla se hace allí.")
    return sentences

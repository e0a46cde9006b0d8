"""The admin's page "Ampliar accesos": the chosen enrolments, a new end, and what would change."""

from datetime import date, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from apps.classroom.extend import LONGEST, MOST, extend_access, extensions_of
from apps.classroom.models import Enrolment, Provisioning
from apps.core.dates import today
from apps.core.input_fields import is_row_number
from apps.core.staff.admin_log import log_reading_of, log_rows
from apps.core.staff.limits import OverLimit, check_extensions

PERMISSION = "classroom.extend_enrolment"
# The page about a student leaves out what ended longer ago.
ENDED_RECENTLY = timedelta(days=60)
NOTHING_RECENT = (
    "No tiene ningún acceso con fecha de fin que siga abierto o que haya terminado en los últimos "
    f"{ENDED_RECENTLY.days} días. Lo anterior se amplía desde la lista de matrículas."
)
NOTHING = "En lo que has elegido no hay ninguna matrícula que ampliar."


class ExtendForm(forms.Form):
    until = forms.DateField(
        label="Nuevo último día",
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
        help_text="Ese día todavía se puede entrar.",
    )
    reason = forms.CharField(
        label="Motivo",
        max_length=200,
        help_text="Queda en el historial del pedido; el alumno no lo lee.",
    )

    def clean_until(self) -> date:
        until: date = self.cleaned_data["until"]
        if until < today():
            raise forms.ValidationError("Ese día ya ha pasado.")
        if until > today() + LONGEST:
            raise forms.ValidationError("Es dentro de más de dos años: revisa la fecha.")
        return until


def extend_url(site: admin.AdminSite) -> URLPattern:
    return path("ampliar/", site.admin_view(extend_page), name="classroom_enrolment_extend")


def page_for(
    request: HttpRequest, enrolments: QuerySet[Enrolment], *, nothing: str = NOTHING, **back: int
) -> HttpResponse | None:
    """The page about these enrolments; None, with a message, if there are none or too many.

    `back` is the id of the order (`pedido`) or the student (`alumno`) that it returns to.
    """
    numbers = list(enrolments.order_by("pk").values_list("pk", flat=True)[: MOST + 1])
    if not numbers:
        messages.warning(request, nothing)
        return None
    if len(numbers) > MOST:
        messages.warning(request, f"Elige como mucho {MOST} matrículas de una vez.")
        return None
    query = urlencode({"m": ",".join(map(str, numbers)), **back})
    return redirect(f"{reverse('admin:classroom_enrolment_extend')}?{query}")


def enrolments_of(accesses: QuerySet[Provisioning]) -> QuerySet[Enrolment]:
    """The enrolments of what these accesses open, also if another order opened it first."""
    chosen = Q(pk__in=())
    for access in accesses.order_by("pk")[:MOST]:
        for subject_id, lesson_id in access.items:
            if [subject_id, lesson_id] not in access.withdrawn:
                chosen |= Q(student=access.student_id, subject=subject_id, lesson=lesson_id)
    return Enrolment.objects.filter(chosen)


def extend_page(request: HttpRequest) -> HttpResponse:
    """Show the form, then what would change, then extend the accesses."""
    if not request.user.has_perm(PERMISSION):
        raise PermissionDenied
    if "m" not in request.GET:
        answer = _page_of_one(request)
        if answer is not None:
            return answer
    numbers = [
        int(number) for number in request.GET.get("m", "").split(",") if is_row_number(number)
    ]
    rows = Enrolment.objects.filter(pk__in=numbers[:MOST])
    enrolments = rows.select_related("student", "subject", "lesson").order_by("pk")
    log_reading_of(request, list(enrolments))
    form = ExtendForm(request.POST or None)
    context: dict[str, Any] = {
        "title": "Ampliar accesos",
        "opts": Enrolment._meta,
        "form": form,
        "enrolments": enrolments,
        "extensions": None,
        "back": _back(request),
    }
    if request.method == "POST" and form.is_valid() and "change" not in request.POST:
        until, reason = form.cleaned_data["until"], form.cleaned_data["reason"]
        try:
            if "confirm" in request.POST:
                return _extend(request, [row.pk for row in enrolments], until, reason)
            extensions = extensions_of(enrolments, until, user=request.user)
            check_extensions(request.user, sum(one.is_given for one in extensions))
        except OverLimit as refusal:
            form.add_error(None, refusal.message)
        else:
            context |= {
                "extensions": extensions,
                "until": until,
                "count": sum(not one.refusal for one in extensions),
            }
    site = admin.site.each_context(request)
    return TemplateResponse(request, "classroom/extend.html", {**site, **context})


def _extend(request: HttpRequest, ids: list[int], until: date, reason: str) -> HttpResponse:
    count = extend_access(enrolment_ids=ids, until=until, reason=reason, user=request.user)
    if count:
        log_rows(request, Enrolment, ids, f"Acceso hasta el {until:%d/%m/%Y}: {reason}")
    _say(request, count, until)
    return redirect(_back(request))


# The page that the form returns to, by the name of its number in the address.
_BACK = {"pedido": "admin:orders_order_change", "alumno": "admin:students_student_change"}


def _page_of_one(request: HttpRequest) -> HttpResponse | None:
    """The page about what an order (`?pedido=7`) or a student (`?alumno=7`) has, or None.

    Of an order it is everything, of a student what is open or ended recently.
    """
    order_id, student_id = _number(request, "pedido"), _number(request, "alumno")
    if order_id:
        accesses = Provisioning.objects.filter(order_id=order_id)
        return page_for(request, enrolments_of(accesses), pedido=order_id) or redirect(
            _back(request)
        )
    if student_id:
        recent = Enrolment.objects.filter(student=student_id, ends_on__gte=today() - ENDED_RECENTLY)
        return page_for(request, recent, nothing=NOTHING_RECENT, alumno=student_id) or redirect(
            _back(request)
        )
    return None


def _number(request: HttpRequest, name: str) -> int:
    number = request.GET.get(name, "")
    return int(number) if is_row_number(number) else 0


def _back(request: HttpRequest) -> str:
    """The address of the order, the student or the list that the form was opened from."""
    for name, page in _BACK.items():
        if number := _number(request, name):
            return reverse(page, args=[number])
    return reverse("admin:classroom_enrolment_changelist")


def _say(request: HttpRequest, count: int, until: date) -> None:
    if not count:
        messages.info(request, "No ha cambiado nada: ya terminaban ese día.")
        return
    what = "1 acceso termina" if count == 1 else f"{count} accesos terminan"
    messages.success(request, f"{what} ahora el {until:%d/%m/%Y}. El aula lo sabrá enseguida.")

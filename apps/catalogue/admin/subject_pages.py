"""Pages of one subject beside its form: the order of its lessons, and a copy of it."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.widgets import AutocompleteSelect
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path

from apps.catalogue.models import Degree, Lesson, Subject
from apps.catalogue.services import prices_changed_by
from apps.catalogue.subject_copies import NameTaken, copy_subject, move_lesson
from apps.core.input_fields import RowField
from apps.core.staff.admin_log import log_rows
from apps.core.staff.limits import OverLimit
from apps.core.staff.public_texts import check_one_line, check_public_text
from apps.core.text_links import check_words

MOVES = {"up": -1, "down": 1}


class CopyForm(forms.Form):
    name = forms.CharField(
        label="Nombre", max_length=160, validators=[check_public_text, check_one_line, check_words]
    )
    degree = RowField(
        label="Grado",
        queryset=Degree.objects.select_related("university"),
        widget=AutocompleteSelect(Subject._meta.get_field("degree"), admin.site),
    )


def subject_urls(site: admin.AdminSite) -> list[URLPattern]:
    return [
        path("<int:pk>/lecciones/", site.admin_view(order), name="catalogue_lesson_order"),
        path("<int:pk>/duplicar/", site.admin_view(duplicate), name="catalogue_subject_copy"),
    ]


def order(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the lessons in their order. POST moves one of them."""
    if not request.user.has_perm("catalogue.change_lesson"):
        raise PermissionDenied
    subject = get_object_or_404(Subject, pk=pk)
    if request.method == "POST":
        word, _, number = request.POST.get("move", "").partition("-")
        if word in MOVES and number.isdecimal() and len(number) < 19:
            lesson = get_object_or_404(Lesson, pk=int(number), subject=subject)
            if move_lesson(lesson, by=MOVES[word]):
                log_rows(request, Lesson, [lesson.pk], "Lección movida")
            else:
                messages.warning(request, "Esa lección ya no está en la asignatura.")
        return redirect(request.path)
    lessons = list(subject.lessons.all())
    return _page(request, "catalogue/lesson_order.html", subject, "Orden de las lecciones",
                 lessons=lessons)  # fmt: skip


def duplicate(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask for the name and degree of the copy. POST makes it and leads to its form."""
    if not request.user.has_perms(("catalogue.add_subject", "catalogue.add_lesson")):
        raise PermissionDenied
    subject = get_object_or_404(Subject, pk=pk)
    initial = {"name": f"{subject.name} (copia)"[:160], "degree": subject.degree_id}
    form = CopyForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        try:
            with prices_changed_by(request.user):
                copy = copy_subject(subject, **form.cleaned_data)
        except (NameTaken, OverLimit) as refusal:
            form.add_error(None, refusal.message)
        else:
            vat = f"IVA: {copy.get_vat_display()}"
            log_rows(request, Subject, [copy.pk], f"Copia de «{subject}». {vat}")
            messages.success(
                request, f"«{copy}» es una copia con sus lecciones. Todavía no está a la venta."
            )
            if copy.vat != subject.vat:
                messages.warning(
                    request,
                    f"{vat}, y no el del original ({subject.get_vat_display()}). Si debe ser ese, "
                    "pide que lo cambie alguien que pueda.",
                )
            return redirect("admin:catalogue_subject_change", copy.pk)
    return _page(request, "catalogue/subject_copy.html", subject, "Duplicar asignatura", form=form)


def _page(
    request: HttpRequest, template: str, subject: Subject, title: str, **context: Any
) -> TemplateResponse:
    site = admin.site.each_context(request)
    values = {**site, "title": title, "subject": subject, "media": forms.Media(), **context}
    if "form" in context:
        values["media"] = context["form"].media
    return TemplateResponse(request, template, values)

"""The page /opinion of the one-time link. It works without an account and without JavaScript."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from apps.core.errors import CrossSite
from apps.core.text_links import names_friend_code
from apps.core.web.api import refuse_cross_site
from apps.core.web.bad_requests import refusal
from apps.core.web.response_headers import private_form_page
from apps.pages.opinions.asking import opinion_from_link
from apps.pages.opinions.models import Opinion

RATINGS = ((5, "Muy buena"), (4, "Buena"), (3, "Normal"), (2, "Mala"), (1, "Muy mala"))


class TextField(forms.CharField):
    """Many lines. A browser counts a new line as one character and sends two."""

    def to_python(self, value: Any) -> str | None:
        return super().to_python(value.replace("\r\n", "\n") if value else value)


class OpinionForm(forms.Form):
    rating = forms.TypedChoiceField(
        label="Tu nota",
        choices=[(number, f"{number} · {words}") for number, words in RATINGS],
        coerce=int,
        widget=forms.RadioSelect,
        error_messages={
            "required": "Elige una nota de 1 a 5.",
            "invalid_choice": "Elige una nota.",
        },
    )
    text = TextField(
        label="Tu opinión",
        min_length=10,
        max_length=1500,
        widget=forms.Textarea(attrs={"rows": 6, "class": "input"}),
        error_messages={
            "required": "Escribe tu opinión.",
            "min_length": "Cuéntanos un poco más: al menos 10 letras.",
            "max_length": "Es demasiado larga: caben 1500 letras.",
        },
    )
    shown_name = forms.CharField(
        label="Nombre que se muestra",
        max_length=40,
        widget=forms.TextInput(attrs={"class": "input", "autocomplete": "off"}),
        error_messages={
            "required": "Escribe el nombre con el que firmar, como «Ana M.».",
            "max_length": "Es demasiado largo: caben 40 letras.",
        },
    )

    def clean_text(self) -> str:
        return _without_friend_code(self.cleaned_data["text"])

    def clean_shown_name(self) -> str:
        return _without_friend_code(self.cleaned_data["shown_name"])


def _without_friend_code(text: str) -> str:
    """The text. A friend code in it would be paid for the academy's own visitors."""
    if names_friend_code(text):
        raise ValidationError("No escribas tu código de amigo: aquí lo leería todo el mundo.")
    return text


# Public pages carry no cookie and no token (docs/rules.md, "Cross-site protection").
@csrf_exempt
@require_http_methods(["GET", "HEAD", "POST"])
@private_form_page
def opinion_page(request: HttpRequest) -> HttpResponse:
    """Take the opinion once. A wrong or old link answers 404, a used one says thank you."""
    opinion = opinion_from_link(request.GET.get("enlace", ""))
    if opinion is None:
        return render(request, "pages/opinion_enlace.html", status=404)
    form = OpinionForm(request.POST or None, initial={"shown_name": _signature(opinion)})
    if request.method == "POST" and opinion.status == Opinion.Status.ASKED:
        try:
            refuse_cross_site(request)
        except CrossSite as error:
            return refusal(request, error)
        if form.is_valid():
            record_opinion(opinion.pk, **form.cleaned_data)
            opinion.refresh_from_db()
    return render(request, "pages/opinion.html", {"opinion": opinion, "form": form})


@transaction.atomic
def record_opinion(opinion_id: int, *, rating: int, text: str, shown_name: str) -> None:
    """Store the answer of a student for moderation. The first answer counts."""
    Opinion.objects.filter(pk=opinion_id, status=Opinion.Status.ASKED).update(
        status=Opinion.Status.WAITING,
        rating=rating,
        text=text,
        shown_name=shown_name,
        answered_at=timezone.now(),
    )


def _signature(opinion: Opinion) -> str:
    """Return "Ana M." from the student's name, or "" without a name."""
    student = opinion.student
    last = f" {student.last_name[0]}." if student.last_name else ""
    return f"{student.first_name}{last}"[:40] if student.first_name else ""

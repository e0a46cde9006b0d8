"""The form with which staff publish a new version of a legal text."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError

from apps.core.errors import TooManyRequests
from apps.core.legal.staff_html import check_html
from apps.core.models import LegalText
from apps.core.web.throttle import Limit

if TYPE_CHECKING:
    _ModelForm = forms.ModelForm[LegalText]
else:
    _ModelForm = forms.ModelForm


# By one member of staff. A version is never deleted, and each checkout reads the numbers of all.
VERSIONS = Limit("legal-texts", times=20, seconds=86_400)


def newest_text(kind: str) -> LegalText | None:
    return LegalText.objects.filter(kind=kind).order_by("version").last()


def _number(text: LegalText) -> str:
    return f"versión {text.version}"


def based_on(text: LegalText) -> str:
    """The value of the hidden field for a form that begins with this version."""
    return f"{text.kind}:{text.version}"


class LegalTextForm(_ModelForm):
    """A new version. `based_on` names the version that the form was shown with ("terminos:5")."""

    # Whoever sends the form.
    editor: Any = None
    based_on = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any] | None:
        data = super().clean() or {}
        kind = data.get("kind", "")
        # Versions of one text are added one after the other.
        versions = LegalText.objects.select_for_update(no_key=True).filter(kind=kind)
        list(versions.values_list("pk"))
        newest = newest_text(kind)
        if newest is not None:
            self._compare(data, newest)
        if not self.errors:
            try:
                VERSIONS.count_key(str(self.editor.pk))
            except TooManyRequests as refusal:
                raise ValidationError(refusal.message) from refusal
        return data

    def _compare(self, data: dict[str, Any], newest: LegalText) -> None:
        """Refuse a version that changes nothing, or that was begun with an older one."""
        kind = data.get("kind", "")
        if newest.body.strip() == data.get("body") and newest.title == data.get("title"):
            raise ValidationError(f"No hay nada que publicar: es igual que la {_number(newest)}.")
        seen_kind, _, seen_version = data.get("based_on", "").partition(":")
        if seen_kind == kind and seen_version != str(newest.version):
            # The form is shown again with the newest version: saving again counts.
            sent: Any = self.data
            shown_again = sent.copy()
            shown_again[self.add_prefix("based_on")] = based_on(newest)
            self.data = shown_again
            raise ValidationError(
                f"Otra persona ha publicado entretanto la {_number(newest)}, y lo que cambió no "
                "está aquí. Lo que has escrito sigue en el formulario: guarda otra vez si es lo "
                "que vale."
            )

    def clean_body(self) -> str:
        body: str = self.cleaned_data["body"]
        check_html(body)
        return body

"""Forms of the catalogue that refuse or ask before prices fall or surprise, and refuse links."""

from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.html import format_html

from apps.catalogue.models import Degree, Lesson, Subject, University
from apps.catalogue.place_limits import Place, check_moved
from apps.catalogue.price_limits import check_lowered, check_put_on_sale
from apps.catalogue.price_questions import needs_confirmation
from apps.catalogue.recorded import NAMES, Recorded
from apps.catalogue.services import price_setter
from apps.catalogue.vat import Vat, may_change_vat
from apps.core.money import format_euros, to_cents
from apps.core.staff.limits import OverLimit
from apps.core.text_links import check_words

if TYPE_CHECKING:
    _ModelForm = forms.ModelForm[Recorded]
    _AnyForm = forms.ModelForm[Any]
else:
    _AnyForm = forms.ModelForm
    _ModelForm = forms.ModelForm

# The name of the checkbox in the question. It names the row's form and the price.
CONFIRMED = "price_confirmed"


class PriceForm(_ModelForm):
    """Refuses 0 € and a change by more than half until the checkbox in the message is ticked.

    The checkbox stands in the error message, so it appears only when there is a question, in the
    form of a subject and in the rows of its lessons alike.
    """

    def clean(self) -> dict[str, Any] | None:
        data = super().clean()
        model: type[Recorded] = self._meta.model
        after = self.cleaned_data.get(model.price_field)
        if after is not None and self._asks(after):
            self.add_error(model.price_field, ValidationError(self._question(after)))
        if after is not None:
            try:
                check_lowered(price_setter(), [(self.instance, self._before(), after)])
            except OverLimit as refusal:
                self.add_error(model.price_field, refusal.message)
        return data

    def _before(self) -> Decimal | None:
        price: Decimal | None = self.initial.get(self._meta.model.price_field)
        return price if self.instance.pk else None

    def _asks(self, after: Decimal) -> bool:
        if not needs_confirmation(self._before(), after):
            return False
        # QueryDict in views, dict in other callers.
        confirmed = self.data.getlist(CONFIRMED) if hasattr(self.data, "getlist") else ()
        return self._answer(after) not in confirmed

    def _answer(self, after: Decimal) -> str:
        return f"{self.prefix or ''}:{to_cents(after)}"

    def _question(self, after: Decimal) -> str:
        before = self._before()
        shown = format_euros(to_cents(after))
        what = (
            f"De {format_euros(to_cents(before))} a {shown}: el precio cambia más de la mitad."
            if before and after
            else f"El precio queda en {shown}: se podrá comprar gratis."
        )
        return format_html(
            '{} <label><input type="checkbox" name="{}" value="{}"> Sí, es correcto</label>',
            what,
            CONFIRMED,
            self._answer(after),
        )


class NameForm(_AnyForm):
    """Refuses a new name with a link, which mails repeat, also to strangers."""

    def clean(self) -> dict[str, Any] | None:
        data = super().clean()
        for field in NAMES.intersection(self.changed_data, self.cleaned_data):
            # Word processors put no-break spaces into names.
            name = self.cleaned_data[field] = " ".join(self.cleaned_data[field].split())
            try:
                check_words(name)
            except ValidationError as error:
                self.add_error(field, error)
        return data


class PlaceForm(NameForm):
    """Refuses to move a row to where an offer above its user's limit counts."""

    parent: str

    def place(self, parent: Any) -> Place:
        """The place of the form's row under this parent."""
        raise NotImplementedError

    def clean(self) -> dict[str, Any] | None:
        data = super().clean()
        after = self.cleaned_data.get(self.parent)
        if after is not None and self.instance.pk:
            # Until the form is valid, the instance has its stored values.
            before = getattr(self.instance, self.parent)
            try:
                check_moved(price_setter(), self.place(before), self.place(after))
            except OverLimit as refusal:
                self.add_error(self.parent, refusal.message)
        return data


class DegreeForm(PlaceForm):
    parent = "university"

    class Meta:
        model = Degree
        fields = "__all__"

    def place(self, parent: University) -> Place:
        return Place(parent.pk, self.instance.pk)


class SubjectForm(PlaceForm, PriceForm):
    parent = "degree"

    class Meta:
        model = Subject
        fields = "__all__"

    def clean(self) -> dict[str, Any] | None:
        """Refuse to move a subject to where a new one would have another VAT."""
        data = super().clean()
        self._check_put_on_sale()
        after = self.cleaned_data.get(self.parent)
        if after is None or not self.instance.pk or after.pk == self.instance.degree_id:
            return data
        if not may_change_vat(price_setter()):
            there = Vat(Subject.objects.vat_of_new(after.pk))
            if there != self.instance.vat:
                rates = f"{self.instance.get_vat_display()} → {there.label}"
                self.add_error(
                    self.parent,
                    f"Allí las asignaturas tienen otro IVA ({rates}), y no puedes cambiarlo.",
                )
        return data

    def _check_put_on_sale(self) -> None:
        """Refuse the tick here, where what was typed stays. The page refuses all other ways."""
        price, name = self.cleaned_data.get("final_price"), self.cleaned_data.get("name", "")
        is_put = "active" in self.changed_data and self.cleaned_data.get("active")
        if is_put and price is not None and self.instance.pk:
            try:
                check_put_on_sale(price_setter(), [Subject(name=name, final_price=price)])
            except OverLimit as refusal:
                self.add_error("active", refusal.message)

    def place(self, parent: Degree) -> Place:
        return Place(parent.university_id, parent.pk, self.instance.pk)

    def clean_videos_count(self) -> int:
        return self.cleaned_data["videos_count"] or 0

    def clean_hours(self) -> int:
        return self.cleaned_data["hours"] or 0


class LessonForm(PlaceForm, PriceForm):
    parent = "subject"

    class Meta:
        model = Lesson
        fields = "__all__"

    def clean(self) -> dict[str, Any] | None:
        """Refuse to change the VAT of a lesson by moving it to another subject."""
        data = super().clean()
        after = self.cleaned_data.get(self.parent)
        if after is not None and self.instance.pk and not may_change_vat(price_setter()):
            before = self.instance.subject
            if before.vat != after.vat:
                rates = f"{before.get_vat_display()} → {after.get_vat_display()}"
                self.add_error(
                    self.parent, f"Allí tiene otro IVA ({rates}), y no puedes cambiarlo."
                )
        return data

    def place(self, parent: Subject) -> Place:
        return Place(parent.degree.university_id, parent.degree_id, parent.pk)

"""Keeps offers to everybody, such as promo codes and campaigns, within the limits of staff."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from django.http import HttpRequest

from apps.core.staff.limits import OverLimit, check_offer, give_offer, lock_giver

if TYPE_CHECKING:
    from django import forms
    from django.contrib.admin.options import ModelAdmin

    _ModelAdmin = ModelAdmin[Any]
    _ModelForm = forms.ModelForm[Any]
else:
    _ModelAdmin, _ModelForm = object, object

# Changing these alone offers nothing more.
HARMLESS = frozenset({"note", "name", "active"})
# An offer is for the courses of any of these, or for all courses if they are empty.
PLACES = ("universities", "degrees", "subjects")


class _ChecksOffer(_ModelForm):
    staff: Any
    offered_percent: Callable[[Mapping[str, Any]], Decimal | None]
    offered_cents: Callable[[Mapping[str, Any]], int | None]
    check_offered: Callable[[Any, Any], None]
    # The sum that this form adds to the discounts that the stored offer may give.
    given_cents: int | None = 0

    def clean(self) -> dict[str, Any] | None:
        super().clean()
        data = self.cleaned_data
        is_on = data.get("active", True)
        turned_on = is_on and "active" in self.changed_data
        percent = type(self).offered_percent(data)
        if percent is not None and is_on and (turned_on or {*self.changed_data} - HARMLESS):
            self.given_cents = self._added_cents(data)
            if self.given_cents != 0:
                lock_giver(self.staff)
            try:
                check_offer(self.staff, percent, cents=self.given_cents)
                type(self).check_offered(self.staff, data)
            except OverLimit as refusal:
                self.add_error(None, refusal.message)
        return data

    def _added_cents(self, data: dict[str, Any]) -> int | None:
        # Until the form is valid, the instance has its stored values.
        stored = vars(self.instance)
        changed = {**stored, **data}
        total = type(self).offered_cents(changed)
        is_new = not self.instance.pk or not stored.get("active")
        is_wider = _lasts_longer(stored, changed) or _is_less_strict(stored, changed)
        if total is None or is_new or is_wider or self._is_for_more_courses(data):
            return total
        before = type(self).offered_cents(stored)
        if before is None:
            # Without a number of uses it may have been used as often as it may be now.
            before = type(self).offered_cents({**stored, "max_uses": changed["max_uses"]}) or 0
        return max(0, total - before)

    def _is_for_more_courses(self, data: dict[str, Any]) -> bool:
        """Whether an offer for some courses is now for others, too, or for all."""
        before = {(name, row.pk) for name in PLACES for row in self.initial.get(name) or ()}
        after = {(name, row.pk) for name in PLACES for row in data.get(name) or ()}
        return bool(before) and (not after or not after <= before)


def _lasts_longer(stored: Mapping[str, Any], changed: Mapping[str, Any]) -> bool:
    """Whether an offer is valid on days on which it was not: all its uses are offered again."""
    begins, ends = stored.get("valid_from"), stored.get("valid_until")
    starts, stops = changed.get("valid_from"), changed.get("valid_until")
    is_longer = ends is not None and (stops is None or stops > ends)
    return is_longer or (begins is not None and (starts is None or starts < begins))


def _is_less_strict(stored: Mapping[str, Any], changed: Mapping[str, Any]) -> bool:
    """Whether a student gets more uses of an offer than before, or one for a smaller cart.

    A percentage and a fixed amount that are alike for one cart are not so for another.
    """
    if changed.get("kind") != stored.get("kind"):
        return True
    most, now = stored.get("max_uses_per_student"), changed.get("max_uses_per_student")
    is_for_less = (changed.get("minimum_cart") or 0) < (stored.get("minimum_cart") or 0)
    return is_for_less or (most is not None and (now is None or now > most))


class OffersWithinLimits(_ModelAdmin):
    """Mixin of an admin page whose form refuses an offer above the limit of its user.

    `offered_percent` gives the offer's percentage from the form's data, or None while it is wrong.
    `offered_cents` gives what all its uses take off together; it is only asked for valid data. See
    `limits.check_offer`. A form that switches an offer off is never refused.
    """

    @staticmethod
    def offered_percent(data: Mapping[str, Any]) -> Decimal | None:
        return data.get("percent")

    @staticmethod
    def offered_cents(data: Mapping[str, Any]) -> int | None:
        return 0

    @staticmethod
    def check_offered(user: Any, data: Mapping[str, Any]) -> None:
        """Raise OverLimit if this offer exceeds the user's limit beside what else they give."""

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        parts = {
            "staff": request.user,
            "offered_percent": staticmethod(self.offered_percent),
            "offered_cents": staticmethod(self.offered_cents),
            "check_offered": staticmethod(self.check_offered),
        }
        return type(form.__name__, (_ChecksOffer, form), parts)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        self.count_offer(request, obj, form)

    def count_offer(self, request: HttpRequest, obj: Any, form: Any) -> None:
        """Count what the form gives away towards the user's day."""
        if form.given_cents:
            percent = form.offered_percent(form.cleaned_data)
            # Its kind goes first: no name of it is that of an order (`counted_cents_of`).
            what = f"{obj._meta.verbose_name} {obj}"
            give_offer(request.user, percent, cents=form.given_cents, what=what)

"""How staff search lists: by the parts of a person's name, address and phone, of few words."""

from typing import Any

from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.contrib.admin.views.main import ChangeList, ChangeListSearchForm
from django.db import connection
from django.db.models import CharField, Func, QuerySet
from django.db.models.expressions import Combinable

from apps.core.input_fields import picker_label, with_picker_labels

# A thousand words, such as those of a pasted mail, took 5 seconds, and more ended in an error.
MOST_LETTERS = 200
MOST_WORDS = 10


def shortened(text: str) -> str:
    """The first words of a text, and no more letters than the search looks for."""
    text = text[:MOST_LETTERS]
    words = text.split()
    return text if len(words) <= MOST_WORDS else " ".join(words[:MOST_WORDS])


class People(Func):
    """The columns that name a person, as one text in lower case.

    Each table that is searched by it has an index on exactly this expression, which its migration
    makes with the same columns in the same order.
    """

    template = "lower(%(expressions)s)"
    arg_joiner = " || ' ' || "
    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        """SQLite compares without capitals itself, and `lower` leaves accented ones alone."""
        return self.as_sql(compiler, connection, template="%(expressions)s", **context)


def search_people(rows: QuerySet[Any], text: str, *columns: str | Combinable) -> QuerySet[Any]:
    """The rows whose columns hold each word of the text: any part of a name, address or phone.

    The look-up `includes` of `apps.catalogue.lookups` reads an index of all sequences of three
    letters.
    """
    rows = rows.alias(person=People(*columns))
    for word in shortened(text).split():
        part = word.lower() if connection.vendor == "postgresql" else word
        rows = rows.filter(person__includes=part)
    return rows


class ShortSearchForm(ChangeListSearchForm):
    def clean_q(self) -> str:
        """Cut a longer text, as the search over everything does. The page shows what is left."""
        return shortened(self.cleaned_data["q"])


class SearchedList(ChangeList):
    search_form_class = ShortSearchForm
    most_letters = MOST_LETTERS


class ShortAutocomplete(AutocompleteJsonView):
    def process_request(self, request: Any) -> Any:
        term, *others = super().process_request(request)
        return (shortened(term), *others)

    def get_queryset(self) -> Any:
        return with_picker_labels(super().get_queryset())

    def serialize_result(self, obj: Any, to_field_name: str) -> dict[str, str]:
        return {**super().serialize_result(obj, to_field_name), "text": picker_label(obj)}

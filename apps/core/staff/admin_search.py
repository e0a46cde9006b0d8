"""The length of what staff search for: a list compares each of its words with several columns."""

from typing import Any

from django.contrib.admin.views.autocomplete import AutocompleteJsonView
from django.contrib.admin.views.main import ChangeList, ChangeListSearchForm

# A thousand words, such as those of a pasted mail, took 5 seconds, and more ended in an error.
MOST_LETTERS = 200


class ShortSearchForm(ChangeListSearchForm):
    def clean_q(self) -> str:
        """Cut a longer text, as the search over everything does. The page shows what is left."""
        return str(self.cleaned_data["q"])[:MOST_LETTERS]


class SearchedList(ChangeList):
    search_form_class = ShortSearchForm
    most_letters = MOST_LETTERS


class ShortAutocomplete(AutocompleteJsonView):
    def process_request(self, request: Any) -> Any:
        term, *others = super().process_request(request)
        return (term[:MOST_LETTERS], *others)

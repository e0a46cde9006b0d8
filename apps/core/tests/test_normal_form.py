"""Normal forms of texts: the same as Python's, but for heaps of marks."""

import unicodedata

import pytest

from apps.core.normal_form import MOST_MARKS, normal_form

LONG = "Ñandú, pingüino y ﬁn: ½ + \u0932\u094b. " * 40
FORMS = ("NFC", "NFD", "NFKC", "NFKD")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("text", ["", "Ñandú", LONG, "e\u0301\u0323" * 400])
def test_normal_form_of_a_text_of_people_is_that_of_python(form, text):
    assert normal_form(form, text) == unicodedata.normalize(form, text)


@pytest.mark.parametrize(
    "marks",
    ["\u0301\u0323", "\u0344\u0323", "\N{TIBETAN VOWEL SIGN II}\uff9e"],
    ids=["marks", "marks that become two", "letters that become marks"],
)
@pytest.mark.parametrize("form", FORMS)
def test_no_letter_of_a_long_text_keeps_more_than_thirty_marks(form, marks):
    for heap in (marks * 1000, marks[0] * 1000 + marks[1] * 1000):
        found = unicodedata.normalize("NFKD", normal_form(form, f"a{heap}b"))
        assert (found[0], found[-1]) == ("a", "b")
        assert len(found) <= MOST_MARKS + 2

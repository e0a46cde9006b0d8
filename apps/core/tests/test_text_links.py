"""Texts that count as links, and texts that do not."""

import pytest
from django.core.exceptions import ValidationError

from apps.core.staff.public_texts import check_public_text
from apps.core.text_links import check_words, has_link


@pytest.mark.parametrize(
    "text",
    [
        "premio.com",
        "Mira premio.example/ya",
        "yo@premio",
        "ftp://premio",
        "premio。es",
        "\N{PARTY POPPER}.com",
        "\N{HEAVY BLACK HEART}\N{VARIATION SELECTOR-16}.com",
        # Indian and Thai domains: a vowel sign beside the point.
        "\u0932\u094b.com",
        "premio.\u092d\u093e\u0930\u0924",
        "e\u0301.com",
    ],
)
def test_text_has_a_link(text):
    assert has_link(text)


@pytest.mark.parametrize(
    "text",
    [
        "¡Feliz día, Leo! Un abrazo.",
        "Academia S.L. y 12.50 €",
        "Lo dijo (y rió).Luego se fue.",
        "¿Ya?.Sí",
        "Nos vemos…Hasta pronto",
        "Cuesta 5€.Los demás, 50%.Oferta",
        "C/.Mayor, 3",
    ],
)
def test_text_has_no_link(text):
    assert not has_link(text)


@pytest.mark.parametrize("check", [check_words, check_public_text])
def test_letters_that_stand_for_many_count_as_many(check):
    """Looking for codes in a text of 100,000 of them took seconds for each field."""
    check("\ufdfa" * 11_000)
    with pytest.raises(ValidationError, match="demasiado largo"):
        check("\ufdfa" * 12_000)


@pytest.mark.parametrize("check", [check_words, check_public_text])
def test_text_of_a_megabyte_is_refused_unread(check, monkeypatch):
    """Of one of these letters a normal form makes 18. Django runs all validators of a field."""
    monkeypatch.setattr("apps.core.text_links.normal_form", None)
    with pytest.raises(ValidationError, match="demasiado largo"):
        check("\ufdfa" * 345_000)

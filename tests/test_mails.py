"""Every mail of the shop, in every variant, with ordinary and with awkward data.

A mail that is registered without a sample fails here: every mail needs a preview.
"""

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from functools import cache
from types import SimpleNamespace

import pytest
from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template import Engine
from django.utils import timezone

from apps.core.mail import registry, samples
from apps.core.mail.delivery import compose
from apps.core.mail.recipient_limits import Origin
from apps.core.mail.registry import RenderedMail, register_mail, registered_mails, render_values
from apps.core.mail.samples import every_mail_has_a_sample, mail_preview
from tests.helpers.mail_contract import differences
from tests.helpers.mail_html import MIN_CONTRAST, MailHtml, contrast

pytestmark = pytest.mark.django_db

# Markup, quotes, emoji, a long name, and a word that no line can take.
AWKWARD = 'Ñ&ñ <b>"O\'Brien"</b> 👩🏽‍🎓 ' + "Arquitectura e Ingeniería " * 6 + "x" * 90
ENGLISH = re.compile(
    r"\b(the|your|you|and|order|payment|paid|click|here|hello|thanks|email|subject|true|false|none"
    r"|undefined|null|please|invoice|amount|date)\b",
    re.IGNORECASE,
)
UNRESOLVED = "¡¡%s!!"
every_mail = pytest.mark.parametrize("template", registered_mails())


def awkward(value):
    """The same values as ill as data get; amounts of thousands, addresses as they are."""
    match value:
        case Decimal():
            return value + 12_345 if value else value
        case str() if value and "://" not in value and "@" not in value:
            return f"{value} {AWKWARD}"
        case dict():
            return {key: awkward(item) for key, item in value.items()}
        case list():
            return [awkward(item) for item in value]
        case (label, text):
            return (label, awkward(text))
        case SimpleNamespace():
            return SimpleNamespace(**awkward(vars(value)))
    return value


def values_of(template) -> Iterator[dict]:
    for ordinary in mail_preview(template).samples().values():
        yield ordinary
        yield awkward(ordinary)


@cache
def mails(template) -> list[tuple[RenderedMail, MailHtml]]:
    """Every variant of a mail, with ordinary and with awkward data, rendered and parsed once."""
    return [
        (mail, MailHtml(mail.html))
        for mail in (render_values(template, values) for values in values_of(template))
    ]


def ordinary_mails(template) -> list[tuple[RenderedMail, MailHtml]]:
    """The variants with ordinary data alone."""
    return mails(template)[::2]


def sent(mail) -> EmailMultiAlternatives:
    return compose(
        mail, to="ana@example.com", message_id="<1@example.com>", written_at=timezone.now()
    )


# ---------------------------------------------------------------- every mail has a sample
def test_every_mail_can_be_previewed_and_none_is_described_that_is_none():
    assert set(registered_mails()) == set(samples._previews)
    assert every_mail_has_a_sample(None) == []


def test_a_mail_without_a_sample_stops_every_command(monkeypatch):
    monkeypatch.setattr(registry, "_templates", dict(registry._templates))
    register_mail("new_mail", "Nuevo", lambda ids: {}, origin=Origin.STAFF)
    (error,) = every_mail_has_a_sample(None)
    assert error.id == "core.E001"
    assert "new_mail" in error.msg


def test_no_file_belongs_to_no_mail():
    folder = settings.BASE_DIR / "templates"
    files = {
        file.relative_to(folder).as_posix()
        for file in folder.glob("*/emails/*")
        if not file.name.startswith(("_", "base."))
    }
    mails = registry._templates.values()
    assert files == {f"{mail.path}.{ending}" for mail in mails for ending in ("html", "txt")}


@every_mail
def test_it_is_described_in_a_spanish_sentence(template):
    preview = mail_preview(template)
    assert re.match(r"[A-ZÁÉÍÓÚ].{15,}[^.]$", preview.when)
    assert preview.to
    assert not ENGLISH.search(f"{preview.when} {preview.to}")


@pytest.mark.parametrize(
    ("sample", "built", "problem"),
    [
        ({"a": 1}, {}, "m.a is only in the sample"),
        ({}, {"a": 1}, "m.a is only in the builder"),
        ({"rows": [{"x": 1}]}, {"rows": [{"y": 1}]}, "m.rows[0].x is only in the sample"),
        (
            {"rows": [SimpleNamespace(x=1)]},
            {"rows": [SimpleNamespace(y=1)]},
            "m.rows[0].x is only in the sample",
        ),
    ],
)
def test_a_sample_that_differs_from_its_builder_is_noticed(sample, built, problem):
    assert list(differences(sample, built, "m")) == [problem]


def test_a_test_that_renders_a_mail_from_rows_compares_it_with_its_samples(monkeypatch):
    monkeypatch.setattr(registry, "_templates", dict(registry._templates))
    register_mail("job_failed", "Tarea", lambda ids: {"title": "x"}, origin=Origin.STAFF)
    with pytest.raises(AssertionError, match=r"job_failed\.admin_url is only in the sample"):
        registry.render_mail("job_failed", {}, reveal=True)


# ---------------------------------------------------------------- the HTML
@every_mail
def test_its_html_is_whole_and_needs_nothing_from_elsewhere(template):
    for mail, html in mails(template):
        assert html.all("html")[0].attrs["lang"] == "es"
        assert "".join(html.all_text("title")) == mail.subject.replace(
            "n.º ", "n.º\N{NO-BREAK SPACE}"
        )
        assert html.all("meta")[0].attrs.get("charset") == "utf-8"
        assert len(html.all("h1")) == 1
        used = {element.tag for element in html.elements}
        assert used.isdisjoint({"img", "script", "link", "iframe", "form", "svg", "video", "b"})
        assert not [e for e in html.elements if {"src", "background", "srcset"} & e.attrs.keys()]
        assert "url(" not in mail.html
        assert "@import" not in mail.html


@every_mail
def test_it_fits_600_points_and_long_words_break(template):
    for _, html in mails(template):
        for element in html.elements:
            width = element.attrs.get("width", element.style.get("width", "100%"))
            assert width.endswith("%") or int(width.removesuffix("px")) <= 600
            assert element.style.get("max-width", "600px") == "600px"
        for element in html.visible():
            styles = [ancestor.style for ancestor in element.lineage()]
            long = any(len(word) > 40 for text in element.texts for word in text.split())
            breaks = any(style.get("word-break") == "break-word" for style in styles)
            stays = any(style.get("white-space") == "nowrap" for style in styles)
            assert not long or (breaks and not stays), element.texts


@every_mail
def test_its_text_can_be_read_in_the_light_and_in_the_dark(template):
    for _, html in mails(template):
        assert html.dark_rules
        for element in html.visible():
            for dark in (False, True):
                text, background = html.colours(element, dark=dark)
                ratio = contrast(text, background)
                assert ratio >= MIN_CONTRAST, (element.texts, text, background, dark)
            sizes = [a.style["font-size"] for a in element.lineage() if "font-size" in a.style]
            assert int(sizes[0].removesuffix("px")) >= 13, element.texts


@every_mail
def test_programs_that_drop_the_style_sheet_still_show_every_link_as_ours(template):
    for _, html in mails(template):
        for link in html.all("a"):
            assert link.style["color"] in ("#0b5f63", "#ffffff")


@every_mail
def test_the_list_of_mails_shows_a_sentence_of_its_own_behind_the_subject(template):
    for mail, html in ordinary_mails(template):
        preview = html.preview().strip("\u200c\u00a0 ")
        assert 15 <= len(preview) <= 140
        assert preview != mail.subject


# ---------------------------------------------------------------- both versions
@every_mail
def test_both_versions_have_the_same_links_and_each_leads_somewhere(template):
    for mail, html in mails(template):
        in_text = {link.rstrip(".,)") for link in re.findall(r"https?://\S+", mail.text)}
        assert html.links() == in_text
        for link in in_text:
            assert link.startswith((f"{settings.SITE_URL}/", "https://"))
        addresses = {a.attrs["href"] for a in html.all("a")} - in_text
        assert {address.removeprefix("mailto:") for address in addresses} <= set(
            re.findall(r"\S+@[\w.]+\w", mail.text)
        )


@every_mail
def test_no_variable_is_left_open(template, settings):
    engine = settings.TEMPLATES[0]
    settings.TEMPLATES = [
        {**engine, "OPTIONS": {**engine["OPTIONS"], "string_if_invalid": UNRESOLVED}}
    ]
    assert Engine.get_default().string_if_invalid == UNRESOLVED
    for values in values_of(template):
        mail = render_values(template, values)
        assert "¡¡" not in mail.subject + mail.text + mail.html
        assert not re.search(r"\{[{%]", mail.subject + mail.text + mail.html)


@every_mail
def test_it_speaks_spanish_and_says_no_none(template):
    for mail, html in ordinary_mails(template):
        seen = " ".join(text for element in html.visible() for text in element.texts)
        for text in (mail.subject, mail.text, seen):
            words = re.sub(r"https?://\S+|\S+@\S+", "", text)
            assert not ENGLISH.search(words), ENGLISH.search(words)


@every_mail
def test_its_text_is_lines_that_can_be_read(template):
    for mail, _ in mails(template):
        for line in sent(mail).body.splitlines():
            longest = max((len(word) for word in line.split()), default=0)
            assert len(line) <= max(100, longest + 2), line
        assert "\n\n\n" not in mail.text
        assert "<" not in mail.text.replace("<b>", "").replace("</b>", "")
        assert "&amp;" not in mail.text


@every_mail
def test_its_subject_is_one_short_line_and_survives_the_way(template):
    for mail, _ in mails(template):
        assert 8 <= len(mail.subject) <= 78
        assert mail.subject.isprintable() or "\u200d" in mail.subject
        message = sent(mail).message()
        assert message.as_bytes().isascii() or message["Subject"].isascii()
        assert all(len(line) <= 998 for line in message.as_bytes().splitlines())


@every_mail
def test_only_unrequested_mails_have_an_unsubscribe_link(template):
    ends = {bool(mail.unsubscribe_url) for mail, _ in mails(template)}
    assert ends == {template in ("cart_reminder", "university_open")}


def test_a_date_is_no_awkward_thing():
    today = date(2026, 11, 21)
    assert awkward({"on": today, "free": Decimal("0.00")}) == {"on": today, "free": Decimal("0.00")}


def test_a_notice_announces_no_charge_to_a_card_that_takes_none():
    subjects = [
        render_values("instalment_notice", values).subject
        for values in mail_preview("instalment_notice").samples().values()
    ]
    assert ["cobraremos" in subject for subject in subjects] == [True, False]
    assert "vence el plazo 2" in subjects[1]

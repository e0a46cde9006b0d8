"""Changing the terms of sale (docs/rules.md, "Terms of sale")."""

from dataclasses import dataclass

from apps.core.database import require_transaction
from apps.core.dates import today
from apps.core.legal.placeholders import numbers_in, numbers_of_a_new_shop, upgraded
from apps.core.models import LegalText, SiteSettings
from apps.pricing.models import Terms
from apps.pricing.sale_terms import SaleTerms
from apps.pricing.signals import terms_changed
from apps.pricing.text_values import text_values


@dataclass(frozen=True)
class PublishedChange:
    """What a change has done: the new versions of legal texts, and sentences for staff."""

    legal_texts: list[LegalText]
    notices: list[str]


def lock_terms() -> Terms | None:
    """Return the row in force once no other transaction is changing the terms.

    The first change has no row to lock, so the row of the site's settings stands for it.
    """
    require_transaction("lock_terms")
    SiteSettings.objects.select_for_update(no_key=True).get(pk=SiteSettings.current().pk)
    return Terms.objects.in_force()


def change_terms(row: Terms, *, actor: str) -> PublishedChange:
    """Put the unsaved row in force, and publish the legal texts that it changes.

    The caller holds the lock of `lock_terms`.
    """
    require_transaction("change_terms")
    newest = Terms.objects.in_force()
    before = newest.values() if newest else SaleTerms()
    row.changed_by, row.changes = actor, row.changes_from(newest or Terms())
    row.save()
    after = row.values()
    published = publish_changed_numbers(dict(text_values(after)))
    answers = terms_changed.send(sender=Terms, before=before, after=after)
    notices: list[str] = []
    for _, said in answers:
        notices += said or []
    return PublishedChange(published, notices)


def publish_changed_numbers(numbers: dict[str, str]) -> list[LegalText]:
    """Publish a new version of each legal text in force that states a number which has changed.

    Earlier versions keep the numbers that their readers accepted. Call it in the transaction that
    changes the numbers.
    """
    published = []
    for kind in LegalText.Kind:
        versions = LegalText.objects.select_for_update(no_key=True).filter(kind=kind)
        newest = max(versions, key=lambda text: text.version, default=None)
        if newest is None:
            continue
        body = upgraded(newest.body)
        before = newest.numbers or numbers_of_a_new_shop()
        if all(before.get(name) == numbers[name] for name in numbers_in(body)):
            continue
        published.append(
            LegalText.objects.create(
                kind=kind,
                version=newest.version + 1,
                title=newest.title,
                body=body,
                published_on=today(),
                numbers=numbers,
            )
        )
    return published

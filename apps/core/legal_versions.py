from apps.core.dates import today
from apps.core.legal.placeholders import numbers_in, numbers_of_a_new_shop, upgraded
from apps.core.models import LegalText


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

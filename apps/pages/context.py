from django.conf import settings
from django.http import HttpRequest


def test_mode(request: HttpRequest) -> dict[str, object]:
    """The cards that the "Modo de pruebas" badge of base.html lists.

    The stand-in is imported in test mode alone: it is never loaded where real money moves.
    """
    if not settings.STRIPE_SANDBOX:
        return {}
    from apps.payments.sandbox.cards import TEST_CARDS

    return {"test_cards": TEST_CARDS}

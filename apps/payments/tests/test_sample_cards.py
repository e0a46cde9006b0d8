from apps.payments.stripe.sample_cards import TEST_CARDS
from tools.stripe_sandbox import cards


def test_listed_test_cards_are_those_of_the_sandbox():
    assert list(TEST_CARDS) == cards.TEST_CARDS

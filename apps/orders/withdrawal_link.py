"""The link to the form of withdrawal, and the last day on which a buyer may use it.

Whoever sends a statement with its token reads the mails of the order's address, or is signed in as
its student. The form belongs to `apps.leads`. The link is made here because the confirmation mail
and the account have it.
"""

from datetime import date, datetime, timedelta
from urllib.parse import urlencode

from django.utils import timezone

from apps.core.keyed_digest import keyed_digest, matches
from apps.orders.models import Order

# Article 104 of the Spanish consumer law (TRLGDCU): the days to withdraw from a contract.
DAYS_TO_WITHDRAW = 14
SATURDAY = 5
_SALT = "orders.withdrawal"


def last_day_to_withdraw(bought_at: datetime) -> date:
    """The last day of the withdrawal period; a weekend moves it to Monday.

    Regulation (EEC) 1182/71, article 3.4. Staff extend it for public holidays, which depend on the
    consumer's town.
    """
    day = timezone.localdate(bought_at) + timedelta(days=DAYS_TO_WITHDRAW)
    while day.weekday() >= SATURDAY:
        day += timedelta(days=1)
    return day


def withdrawal_url(order: Order) -> str:
    """The path of the form with the order's number, and with its token."""
    token = keyed_digest(_SALT, _named(order))
    return f"/desistimiento?{urlencode({'pedido': order.pk, 'clave': token})}"


def is_withdrawal_token(order: Order, token: str) -> bool:
    return matches(_SALT, _named(order), token)


def _named(order: Order) -> str:
    # With the address: what was mailed to a mistyped one proves nothing once it is corrected.
    return f"{order.pk}:{order.idempotency_id}:{order.email.lower()}"

from datetime import timedelta

import pytest
from django.utils import timezone

from apps.catalogue.models import Subject
from apps.orders.models import Order
from apps.orders.popularity import refresh_popularity
from tests.helpers.factories import make_degree, make_subject
from tests.helpers.referrals import buy_subject, place_order

pytestmark = pytest.mark.django_db


def test_popularity_counts_paid_orders_of_the_last_year() -> None:
    degree = make_degree()
    bought, saved = (make_subject(name, "200.00", degree=degree) for name in ("Cálculo", "Álgebra"))
    order = buy_subject(bought, total=19000)
    buy_subject(bought, total=19000, email="ana@example.com")
    place_order(saved, total=19000)

    assert refresh_popularity() == 1
    assert refresh_popularity() == 0
    by_name = dict(Subject.objects.values_list("name", "popularity"))
    assert by_name == {"Cálculo": 2, "Álgebra": 0}
    Order.objects.filter(pk=order.pk).update(paid_at=timezone.now() - timedelta(days=366))
    refresh_popularity()
    bought.refresh_from_db()
    assert bought.popularity == 1

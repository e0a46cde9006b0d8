"""Staff refund orders in whole or in part, and never more than was paid."""

from datetime import timedelta
from uuid import uuid4

import pytest
import time_machine
from django.conf import settings
from django.core.exceptions import ObjectDoesNotExist
from django.db import IntegrityError, transaction
from django.utils import timezone

from apps.classroom.models import Enrolment
from apps.core.models import Mail
from apps.orders.ledger.lines import lines_left
from apps.orders.models import Order, Payment, Refund
from apps.orders.refunds.available import refundable_cents
from apps.orders.refunds.effects import RefundRequest
from apps.orders.refunds.preview import preview
from apps.orders.refunds.request import OutOfDate, RefundRefused
from apps.payments.refunds.at_stripe import make_refund
from apps.pricing.models import PromoCode
from tests.helpers.factories import ANA, checkout_body, make_promo, make_subject, whole
from tests.helpers.parallel import in_parallel
from tests.helpers.refunds import buy, make_clerk, refund, refunded_at_provider

pytestmark = pytest.mark.django_db


def text(order, **request):
    sentences = preview(order, RefundRequest(reason="Error", **request))
    return " ".join(sentences).replace("\xa0", " ")


def test_whole_refund_returns_everything_and_ends_the_access(
    sandbox, order, clerk, work, mailoutbox
):
    assert Enrolment.objects.get().state == "open"
    mailoutbox.clear()

    [made] = refund(order, clerk, reason="Se apuntó dos veces")
    work()

    assert refunded_at_provider(sandbox, order) == [18240]
    assert (made.status, made.amount_cents, made.actor) == ("succeeded", 18240, "carla")
    assert made.reference.startswith("re_")
    assert order.status == "refunded"
    assert Enrolment.objects.count() == 0
    assert Payment.objects.get().refunded == Payment.objects.get().amount
    last = order.events.get(to_status="refunded")
    assert (last.actor, last.from_status) == ("carla", "paid")
    assert last.reason.replace("\xa0", " ") == "Devueltos 182,40 €: Se apuntó dos veces"
    student, owner = sorted(mailoutbox, key=lambda mail: mail.to != ["bruno@example.com"])
    assert student.subject.replace("\xa0", " ") == "Te hemos devuelto 182,40 €"
    assert "termina tu acceso al aula de lo que compraste" in student.body
    # The reason is shown to staff only.
    assert "dos veces" not in student.body
    assert owner.to == [settings.STAFF_EMAIL]
    assert "Motivo: Se apuntó dos veces" in owner.body
    assert "carla ha devuelto" in owner.body


def test_refund_at_stripe_carries_the_ids_of_order_and_refund(sandbox, order, clerk):
    [made] = refund(order, clerk, 1000)

    assert sandbox.process.client().v1.refunds.retrieve(made.reference).metadata.to_dict() == {
        "order_id": str(order.pk),
        "refund": str(made.key_id),
    }


def test_partial_refund_keeps_the_access_and_allows_further_refunds(
    sandbox, order, clerk, work, mailoutbox
):
    refund(order, clerk, 1000)
    assert order.status == "partially_refunded"
    refund(order, clerk, 2000)
    work()

    assert order.status == "partially_refunded"
    assert refunded_at_provider(sandbox, order) == [1000, 2000]
    assert Enrolment.objects.get().state == "open"
    assert refundable_cents(order) == 15240
    assert "Tu acceso al aula no cambia." in mailoutbox[-1].body + mailoutbox[-2].body

    refund(order, clerk)

    assert order.status == "refunded"
    assert refunded_at_provider(sandbox, order) == [1000, 2000, 15240]
    assert Enrolment.objects.count() == 0
    with pytest.raises(RefundRefused, match="No queda nada que devolver"):
        refund(order, clerk, 1)


def test_refund_of_chosen_lines_ends_only_their_access(api, sandbox, work, clerk):
    micro, macro = make_subject("Microeconomía"), make_subject("Macroeconomía")
    order = buy(api, sandbox, micro, macro, total="349.80")
    work()
    line = order.lines.get(subject=macro)

    assert "Se retira el acceso a: Macroeconomía." in text(
        order, amount_cents=17490, line_ids=frozenset({line.pk})
    )
    refund(order, clerk, 17490, line_ids=frozenset({line.pk}))

    assert order.status == "partially_refunded"
    assert list(Enrolment.objects.values_list("subject", flat=True)) == [micro.pk]
    assert list(lines_left(order)) == [order.lines.get(subject=micro)]


def test_preview_describes_the_effects_and_changes_nothing(api, sandbox, clerk):
    make_promo("MENOS10")
    order = buy(api, sandbox, total="164.16", promo_code="MENOS10")

    assert text(order, amount_cents=16416) == (
        f"Se devuelven 164,16 € del pago {order.stripe_payment_intent_id} (164,16 €). "
        "Es todo lo cobrado: el pedido queda como devuelto. "
        "Se retira el acceso al aula de todo lo que abrió este pedido. "
        "El uso del código MENOS10 sigue contando: no se puede usar otra vez."
    )
    assert "El acceso al aula no cambia." in text(order, amount_cents=100)
    assert refunded_at_provider(sandbox, order) == []
    assert Refund.objects.count() == 0

    refund(order, clerk)

    assert PromoCode.objects.get(code="MENOS10").uses_taken == 1
    assert order.promo_uses.get().status == "used"


@pytest.mark.parametrize("cents", [0, -1, 18241])
def test_refund_of_nothing_or_of_more_than_is_left_is_refused(sandbox, order, clerk, cents):
    with pytest.raises(RefundRefused, match="Se pueden devolver entre 0,01"):
        refund(order, clerk, cents)

    assert refunded_at_provider(sandbox, order) == []
    assert Refund.objects.count() == 0


def test_refund_without_a_reason_is_refused(order, clerk):
    with pytest.raises(RefundRefused, match="Escribe el motivo"):
        refund(order, clerk, 100, reason="  ")


def test_double_click_on_one_preview_refunds_once(sandbox, order, clerk):
    request, batch = RefundRequest(1000, "Error"), uuid4().hex
    for _ in range(2):
        make_refund(order_id=order.pk, request=request, batch=batch, user=clerk, seen_cents=18240)

    assert refunded_at_provider(sandbox, order) == [1000]
    assert Mail.objects.filter(template="refund_made").count() == 1


def test_refund_with_an_outdated_preview_is_refused(sandbox, order, clerk):
    refund(order, clerk, 1000)

    with pytest.raises(OutOfDate):
        make_refund(
            order_id=order.pk,
            request=RefundRequest(1000, "Error"),
            batch=uuid4().hex,
            user=clerk,
            seen_cents=18240,
        )
    assert refunded_at_provider(sandbox, order) == [1000]


def test_refunds_over_the_daily_limit_of_a_clerk_are_refused(sandbox, order, clerk, settings):
    settings.REFUND_DAILY_LIMIT = 50
    refund(order, clerk, 4000)

    with pytest.raises(RefundRefused, match="hoy te quedan 10,00"):
        refund(order, clerk, 1001)
    refund(order, make_clerk("diego"), 1001)
    refund(order, clerk, 1000)
    with time_machine.travel(timezone.now() + timedelta(days=1)):
        refund(order, clerk, 5000)

    assert refunded_at_provider(sandbox, order) == [4000, 1001, 1000, 5000]


def test_database_refuses_a_refunded_amount_above_the_payment(order):
    with pytest.raises(IntegrityError), transaction.atomic():
        Payment.objects.update(refunded="182.41")


def test_refund_takes_a_duplicate_payment_first_and_the_order_stays_paid(
    api, sandbox, order, clerk
):
    customer = order.customer_reference
    twice = sandbox.process.client().v1.payment_intents.create(
        {
            "amount": 18240,
            "currency": "eur",
            "customer": customer,
            "payment_method": "pm_card_visa",
            "confirm": True,
            "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
            "metadata": {"order_id": str(order.pk), "revision": "1"},
        }
    )
    api.post("complete-payment", {"payment_intent_id": twice.id})
    assert Payment.objects.get(reference=twice.id).flag

    assert "Era dinero de más: el pedido sigue pagado." in text(order, amount_cents=18240)
    [made] = refund(order, clerk, 18240)

    assert made.payment.reference == twice.id
    assert order.status == "paid"
    assert Enrolment.objects.count() == 1


def test_refund_of_a_free_order_is_refused(api, sandbox, clerk):
    make_promo("GRATIS", value="100")
    placed = api.checkout(checkout_body(whole(make_subject()), total="0", promo_code="GRATIS"))
    order = Order.objects.get(pk=placed["order_id"])
    assert order.status == "paid"
    with pytest.raises(RefundRefused, match="No queda nada que devolver"):
        refund(order, clerk, 1)
    with pytest.raises(ObjectDoesNotExist):
        Refund.objects.get()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_refunds_by_two_clerks_never_exceed_the_payment(api, sandbox):
    order = buy(api, sandbox)
    clerks = [make_clerk("carla"), make_clerk("diego")]

    def press():
        return make_refund(
            order_id=order.pk,
            request=RefundRequest(18240, "Error"),
            batch=uuid4().hex,
            user=clerks.pop(),
            seen_cents=18240,
        )

    results = in_parallel(press, 2)

    refused = [one for one in results if isinstance(one, Exception)]
    assert [type(one) for one in refused] == [RefundRefused]
    assert refunded_at_provider(sandbox, order) == [18240]
    assert Payment.objects.get().refunded == Payment.objects.get().amount
    order.refresh_from_db()
    assert order.status == "refunded"
    assert order.events.filter(to_status="refunded").count() == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_concurrent_refunds_by_one_clerk_keep_the_daily_limit(api, sandbox, settings):
    settings.REFUND_DAILY_LIMIT = 100
    clerk = make_clerk()
    orders = [buy(api, sandbox), buy(api, sandbox, **ANA)]

    def press():
        return make_refund(
            order_id=orders.pop().pk,
            request=RefundRequest(6000, "Error"),
            batch=uuid4().hex,
            user=clerk,
            seen_cents=18240,
        )

    results = in_parallel(press, 2)

    assert [type(one) for one in results if isinstance(one, Exception)] == [RefundRefused]
    assert Refund.objects.count() == 1

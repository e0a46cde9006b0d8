"""audit_money finds nothing after complete purchases, and names each kind of forced difference."""

from datetime import date, timedelta
from io import StringIO

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.db.models import F
from django.utils import timezone

from apps.core.models import Mail
from apps.orders.models import (
    Dispute,
    Instalment,
    Order,
    OrderDiscount,
    OrderLine,
    Payment,
    PromoUse,
    ReferralReward,
    Refund,
    UsedQuote,
)
from apps.payments.audit import audit
from apps.payments.audit import run as audit_run
from apps.payments.jobs import audit_money_nightly
from apps.payments.models import AuditDifference
from apps.payments.refunds.reconcile import reconcile_returns
from apps.payments.stripe.client import client
from apps.pricing.models import PromoCode
from tests.helpers.factories import ANA, checkout_body, make_promo, make_subject, whole
from tests.helpers.plans import charge_on, day
from tests.helpers.refunds import buy, make_clerk, refund
from tests.helpers.shared_rows import undone

pytestmark = pytest.mark.django_db


@pytest.fixture
def paid(api, sandbox):
    """Bruno's order at 164.16 €, with a code."""
    make_promo("MENOS10")
    return buy(api, sandbox, total="164.16", promo_code="MENOS10")


def told(**how):
    """The audit's findings an hour later, when no payment is in progress."""
    with time_machine.travel(timezone.now() + timedelta(hours=2)):
        found = audit(**how).differences
    return [sentence.replace("\xa0", " ") for sentence in found]


def run(*arguments):
    """The command's exit status and what it printed."""
    out = StringIO()
    try:
        call_command("audit_money", *arguments, stdout=out)
    except SystemExit as end:
        return end.code, out.getvalue()
    return 0, out.getvalue()


def test_audit_finds_nothing_after_a_purchase_with_a_code(paid):
    status, printed = run()

    assert told() == []
    assert (status, printed) == (0, "Pedidos comparados: 1; con Stripe: 1. Sin diferencias.\n")


def test_audit_finds_nothing_at_any_step_of_a_plan(sandbox, plan):
    for number in (0, 20, 40, 41):
        charge_on(number)
        with time_machine.travel(day(number, hours=1)):
            assert audit().differences == []
    assert Order.objects.get().status == "paid"


def test_audit_finds_nothing_in_carts_free_orders_and_friend_codes(api, sandbox):
    make_promo("GRATIS", value="100")
    api.checkout(checkout_body(whole(make_subject()), total="182.40"))
    api.checkout(checkout_body(whole(make_subject()), total="0", promo_code="GRATIS"))
    ana = buy(api, sandbox, make_subject("Historia"), **ANA)
    code = PromoCode.objects.get(student=ana.student, is_referral_code=True)
    friend = {"email": "carlos@example.com", "phone": "+34600333333"}
    invited = buy(api, sandbox, total="167.40", promo_code=code.code, **friend)

    assert told() == []

    refund(invited, make_clerk())
    assert told() == []


def test_audit_finds_nothing_after_refunds_of_any_kind(api, sandbox, paid, plan, clerk):
    refund(paid, clerk, 1000)
    charge_on(20)
    with time_machine.travel(day(21), tick=False):
        refund(plan, clerk, 100)
    assert told() == []

    refund(paid, clerk)
    refund(plan, clerk)
    assert told() == []

    other = buy(api, sandbox, make_subject("Historia"), **ANA)
    sandbox.process.control("POST", "refunds", {"payment_intent": other.stripe_payment_intent_id})
    reconcile_returns()
    assert told() == []


@pytest.mark.parametrize("verdict", ["", "won", "lost"])
def test_audit_finds_nothing_after_disputes(sandbox, plan, verdict):
    made = sandbox.process.control(
        "POST", "disputes", {"payment_intent": plan.stripe_payment_intent_id}
    )
    if verdict:
        sandbox.process.control("POST", f"disputes/{made['id']}", {"status": verdict})
    reconcile_returns()

    assert told() == []


# A forced change of Bruno's paid order, and the finding that names it.
FORCED = {
    "line": (
        lambda order: OrderLine.objects.update(list_price=100),
        "las líneas (100,00 €) menos los descuentos (27,84 €) no dan el total (164,16 €)",
    ),
    "discount": (
        lambda order: OrderDiscount.objects.filter(name__startswith="Pago").update(amount=1),
        "no dan el total (164,16 €)",
    ),
    "plan of an order paid at once": (
        lambda order: Instalment.objects.create(
            order=order, number=1, amount=1, due_on=date(2026, 11, 21), status="canceled"
        ),
        "tiene plazos que no le tocan",
    ),
    "amount of the payment": (
        lambda order: Payment.objects.update(amount="100.00"),
        "los cobros suman 100,00 € en lugar de 164,16 €",
    ),
    "no payment": (
        lambda order: Payment.objects.update(status="canceled"),
        "está «pagado» y no tiene ningún cobro",
    ),
    "paid cart": (
        lambda order: Order.objects.update(status="cart"),
        "está «carrito» y tiene cobros por 164,16 €",
    ),
    "code of a cart": (
        lambda order: Order.objects.update(status="cart"),
        "está «carrito» y ha gastado el uso de su código",
    ),
    "use still reserved": (
        lambda order: PromoUse.objects.update(status="reserved"),
        "está «pagado» y el uso de su código sigue reservado",
    ),
    "use gone": (
        lambda order: PromoUse.objects.update(status="released"),
        "se pagó con un código y el uso no consta",
    ),
    "counter": (
        lambda order: PromoCode.objects.update(uses_taken=F("uses_taken") + 1),
        "su contador dice",
    ),
    "use of another code": (
        lambda order: PromoUse.objects.update(promo_code=make_promo("OTRO")),
        "gasta un uso de un código que no es el suyo",
    ),
    "discount without a code": (
        lambda order: Order.objects.update(promo_code=None),
        "tiene el descuento de un código y ningún código",
    ),
    "refunded by nobody": (
        lambda order: Order.objects.update(status="refunded"),
        "está «devuelto» y se han devuelto 0,00 € de 164,16 €",
    ),
    "refunded in part by nobody": (
        lambda order: Order.objects.update(status="partially_refunded"),
        "está «devuelto en parte» y se han devuelto 0,00 € de 164,16 €",
    ),
    "sum of refunds": (
        lambda order: Payment.objects.update(refunded=5),
        "suman 0,00 € y en el pago constan 5,00 €",
    ),
    "refund without an answer": (
        lambda order: make_refund(order, status="requested"),
        "Stripe no ha contestado todavía a la devolución de 10,00 €",
    ),
    "refund that came back": (
        lambda order: make_refund(order, status="failed", reference="re_x"),
        "la devolución de 10,00 € no llegó al alumno y sigue sin hacerse",
    ),
    "paid although given back in part": (
        lambda order: make_refund(order, status="succeeded", reference="re_x"),
        "está «pagado» y se han devuelto 10,00 € de 164,16 €",
    ),
    "dispute that the order does not know": (
        lambda order: make_dispute(order),
        "la disputa du_x está abierta y no consta en él",
    ),
    "order in a dispute that is none": (
        lambda order: Order.objects.update(disputed_at=timezone.now()),
        "figura en disputa y no hay ninguna abierta ni perdida",
    ),
    "reward of a cart": (
        lambda order: (make_reward(order), Order.objects.update(status="cart")),
        "está «carrito» y tiene una recompensa",
    ),
    "reward of an order that was given back": (
        lambda order: (make_reward(order), Order.objects.update(status="refunded")),
        "está devuelto y la recompensa sigue retenida",
    ),
    "worth of a reward": (
        lambda order: (make_reward(order, amount=3), Order.objects.update(promised_reward=25)),
        "la recompensa es de 3,00 € en lugar de 25,00 €",
    ),
    "reward that is missing": (
        lambda order: PromoCode.objects.filter(code="MENOS10").update(
            is_referral_code=True, student=make_reward(order, delete=True)
        ),
        "se pagó con el código de un amigo y no hay recompensa",
    ),
    "quote of another order": (
        lambda order: UsedQuote.objects.create(number=77, order=order),
        "tiene por usado el presupuesto n.º 77, y no lo es",
    ),
}


def make_refund(order, **fields):
    payment = Payment.objects.get()
    Refund.objects.create(payment=payment, batch="b", amount=10, reason="x", actor="x", **fields)
    Refund.objects.update(created_at=timezone.now() - timedelta(hours=2))
    if fields["status"] != "failed":
        Payment.objects.update(refunded=10)


def make_dispute(order):
    Dispute.objects.create(
        payment=Payment.objects.get(), reference="du_x", amount=10, status="open"
    )


def make_reward(order, *, amount=25, delete=False):
    owner = type(order.student).objects.create(email="ana@example.com", phone="+34600111111")
    reward = ReferralReward.objects.create(
        student=owner,
        friend=order.student,
        order=order,
        promo_code=order.promo_code,
        amount=amount,
        held_until=timezone.now(),
    )
    if delete:
        reward.delete()
    return owner


def test_audit_names_each_difference_within_the_shop(paid):
    assert told(offline=True) == []
    for kind, (force, sentence) in FORCED.items():
        with undone():
            force(paid)

            found = told(offline=True)
            assert any(sentence in one for one in found), (kind, found)
            assert all(one.startswith((f"Pedido {paid.pk}: ", "Código ")) for one in found), kind


# The same for a plan whose second instalment is paid.
FORCED_ON_PLANS = {
    "number of instalments": (
        lambda plan: Order.objects.filter(pk=plan.pk).update(instalment_count=2),
        "3 plazos suman 100,00 €, y el total es 100,00 €",
    ),
    "amount of an instalment": (
        lambda plan: plan.instalments.filter(number=3).update(amount=1),
        "3 plazos suman 67,67 €, y el total es 100,00 €",
    ),
    "no instalments": (
        lambda plan: (Payment.instalments.through.objects.all().delete(), remove(plan)),
        "se paga a plazos y no tiene ninguno",
    ),
    "instalment paid by nobody": (
        lambda plan: plan.instalments.filter(number=3).update(status="paid"),
        "el plazo 3 está pagado y tiene 0 cobros",
    ),
    "instalment that was paid and waits": (
        lambda plan: plan.instalments.filter(number=2).update(status="due"),
        "y no está pagado",
    ),
    "paid with instalments left": (
        lambda plan: Order.objects.update(status="paid"),
        "está «pagado» y le quedan plazos por cobrar (1)",
    ),
    "paying with none left": (
        lambda plan: plan.instalments.filter(number=3).update(status="canceled"),
        "está «pagando a plazos» y no queda ningún plazo por cobrar",
    ),
}


def remove(plan):
    for instalment in plan.instalments.all():
        instalment.attempts.all().delete()
    plan.instalments.all().delete()


def test_audit_names_each_difference_within_a_plan(plan):
    charge_on(20)
    assert told(offline=True) == []
    for kind, (force, sentence) in FORCED_ON_PLANS.items():
        with undone():
            force(plan)

            found = told(offline=True)
            assert any(sentence in one for one in found), (kind, found)


def test_audit_names_a_charge_that_only_stripe_has(sandbox, paid):
    sandbox.process.client().v1.payment_intents.create(
        {
            "amount": 4200,
            "currency": "eur",
            "customer": paid.customer_reference,
            "payment_method": "pm_card_visa",
            "confirm": True,
            "automatic_payment_methods": {"enabled": True, "allow_redirects": "never"},
        }
    )

    # Shortly after the payment its record may still be in progress.
    assert audit().differences == []
    [found] = told()
    assert found.startswith(f"Pedido {paid.pk}: Stripe ha cobrado 42,00 € (pi_")
    assert found.endswith("y aquí no consta.")


def test_audit_names_a_payment_unknown_to_stripe(sandbox, paid):
    sandbox.forget_everything()

    assert told() == [
        f"Pedido {paid.pk}: el cobro {paid.stripe_payment_intent_id} de 164,16 € no está en Stripe."
    ]


def test_audit_names_a_payment_without_a_customer(paid):
    Order.objects.update(customer_reference="")

    assert told() == [
        f"Pedido {paid.pk}: tiene cobros y ningún cliente en Stripe con el que compararlos."
    ]


def test_audit_names_a_different_amount_at_stripe(paid):
    Payment.objects.update(amount="164.17")

    assert "es de 164,17 € y en Stripe de 164,16 €" in " ".join(told())


def test_audit_names_a_refund_and_a_dispute_that_only_stripe_has(sandbox, paid):
    what = {"payment_intent": paid.stripe_payment_intent_id, "amount": 1000}
    sandbox.process.control("POST", "refunds", what)
    sandbox.process.control("POST", "disputes", what)

    refunds, disputes = told()

    assert "se han devuelto 10,00 € en Stripe, y aquí constan 0,00 €" in refunds
    assert "está en disputa en Stripe, y aquí no consta" in disputes
    assert told(offline=True) == []
    reconcile_returns()
    assert told() == []


def test_audit_without_an_answer_from_stripe_is_incomplete(settings, paid):
    settings.STRIPE_API_BASE = "http://127.0.0.1:9"
    client.cache_clear()

    status, printed = run()

    assert status == 2
    assert "Stripe no contesta" in printed
    assert run("--offline")[0] == 0


def test_audit_command_prints_differences_and_exits_with_1(paid):
    Payment.objects.update(amount="100.00")

    status, printed = run("--offline")

    assert status == 1
    assert printed.replace("\xa0", " ") == (
        f"Pedido {paid.pk}: los cobros suman 100,00 € en lugar de 164,16 €.\n"
        "Pedidos comparados: 1; con Stripe: 0. Diferencias: 1.\n"
    )


def test_audit_since_a_day_omits_unchanged_orders(paid):
    Payment.objects.update(amount="100.00")
    tomorrow = timezone.localdate() + timedelta(days=1)

    assert run("--offline", "--since", f"{tomorrow}") == (
        0,
        "Pedidos comparados: 0; con Stripe: 0. Sin diferencias.\n",
    )
    assert run("--offline", "--since", f"{timezone.localdate()}")[0] == 1
    with pytest.raises(CommandError, match="quiere un día"):
        run("--since", "ayer")


def test_audit_mails_the_owner_about_differences_once_a_day(paid, work, mailoutbox):
    work()
    mailoutbox.clear()
    assert audit_money_nightly() == ""
    Payment.objects.update(amount="100.00")

    for _ in range(2):
        assert "Diferencias: 2" in audit_money_nightly()
    work()

    [mail] = mailoutbox
    assert mail.subject == "Las cuentas no cuadran: 2 diferencias"
    assert "los cobros suman 100,00 € en lugar de 164,16 €" in mail.body.replace("\xa0", " ")
    with time_machine.travel(timezone.now() + timedelta(days=1)):
        audit_money_nightly()
    assert Mail.objects.filter(template="audit_differences").count() == 2


def test_differences_are_listed_until_an_audit_no_longer_finds_them(paid):
    Payment.objects.update(amount="100.00")
    for _ in range(2):
        audit_money_nightly()
    assert AuditDifference.objects.count() == 2

    Payment.objects.update(amount="164.16")
    audit_money_nightly()
    assert not AuditDifference.objects.exists()


def test_audit_changes_nothing(paid):
    Payment.objects.update(amount="100.00")
    before = list(Order.objects.values()), list(Payment.objects.values())

    told()

    assert (list(Order.objects.values()), list(Payment.objects.values())) == before


def test_nightly_audit_asks_stripe_about_no_cart_that_nobody_paid(api, sandbox, paid, monkeypatch):
    """Strangers make them by the thousand, and all other jobs wait for it."""
    for number in range(3):
        body = checkout_body(whole(make_subject(f"Asignatura {number}")), total="182.40")
        assert api.checkout(body)["client_secret"]
    asked = []
    monkeypatch.setattr(
        audit_run, "differences_with_stripe", lambda order, **_: asked.append(order) or ()
    )

    audit_money_nightly()
    assert [order.pk for order in asked] == [paid.pk]
    Payment.objects.filter(order=paid).update(status="succeeded")
    Order.objects.filter(pk=paid.pk).update(status="expired")
    assert "tiene cobros" in "".join(audit(offline=True, paid_only=True).differences)

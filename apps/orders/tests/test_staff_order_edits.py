"""An open order of staff is edited, and its discount is approved or refused."""

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db.models import Sum
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.core.dates import today
from apps.core.models import Mail, StaffAction, StaffDiscount
from apps.core.staff.admin_buttons import Repeated
from apps.core.staff.fresh_password import GIVEN_AT
from apps.orders.by_staff.actions import change_address
from apps.orders.by_staff.approve import approve_order, refuse_order
from apps.orders.by_staff.create import OrderRefused, create_order
from apps.orders.by_staff.edit import edit_order, price_edit
from apps.orders.by_staff.mails import order_to_pay_context
from apps.orders.checkout.place import place
from apps.orders.checkout.request import Checkout
from apps.orders.errors import OrderAwaitsApproval, PriceChanged
from apps.orders.gifts.details import GiftDetails, store_details, stored_details
from apps.orders.models import Order, Payment, StaffOrder
from apps.orders.offer.cart import CheckoutItem
from apps.orders.settlement.open_payments import open_payment
from apps.orders.tests.test_staff_limits import limit, make_order, member, wanted
from apps.pricing.payment_type import PaymentType
from tests.helpers.factories import BRUNO, make_promo, make_subject
from tests.helpers.parallel import in_parallel, in_the_same_instant

pytestmark = pytest.mark.django_db
LINK, TRANSFER = StaffOrder.PaidBy.LINK, StaffOrder.PaidBy.TRANSFER
INSTALMENTS = PaymentType.INSTALMENTS


@pytest.fixture(autouse=True)
def account(settings):
    settings.TRANSFER_IBAN = "ES91 2100 0418 4502 0005 1332"


@pytest.fixture
def carla():
    return member("carla", "Atención")


def fresh(order):
    return Order.objects.get(pk=order.pk)


def subject_of(order):
    return order.lines.get().subject


def edit(order, user, discount_cents=0, *, seen=None, cents=182_40, **changes):
    """Edit the order, which has one subject of 182.40 €, as its form was opened just now."""
    order = fresh(order)
    if "items" not in changes:
        changes = {"subject": subject_of(order), **changes}
    return edit_order(
        order.pk,
        wanted(discount_cents, **changes),
        seen=seen or order.by_staff.version,
        seen_cents=cents - discount_cents,
        user=user,
    )


def checkout(order, subject, cents):
    return Checkout(
        **BRUNO,
        payment_type=PaymentType.FULL,
        items=(CheckoutItem(subject.pk),),
        expected_total_cents=cents,
        accepted=frozenset({"terms", "privacy", "adult", "withdrawal"}),
        order_id=order.pk,
        token=order.auth_token,
    )


def mails():
    return list(Mail.objects.filter(template="order_to_pay").order_by("pk"))


def counted():
    return StaffDiscount.objects.aggregate(sum=Sum("amount"))["sum"]


def test_edit_replaces_lines_and_price_and_mails_the_new_sum_once(carla):
    order = make_order(carla, 30_00)
    macro = make_subject("Macroeconomía", price="100.00")
    key = uuid4()

    told = edit(order, carla, 10_00, subject=macro, cents=95_00, paid_by=TRANSFER, form_key=key)
    with pytest.raises(Repeated):
        edit(order, carla, 10_00, subject=macro, cents=95_00, paid_by=TRANSFER, form_key=key)

    after = fresh(order)
    assert "recibe un correo con el pago nuevo" in told
    assert (after.auth_token, after.by_staff.reference) == (order.auth_token, f"PEDIDO-{order.pk}")
    assert (subject_of(after), after.total_cents) == (macro, 85_00)
    assert (after.by_staff.paid_by, after.by_staff.discount) == (TRANSFER, Decimal("10.00"))
    [first, second] = mails()
    assert order_to_pay_context(second.context)["total"] == Decimal("85.00")
    assert [bool(mail.context.get("replaces")) for mail in (first, second)] == [False, True]
    assert after.events.latest("pk").reason == (
        "se añade «Macroeconomía»; se quita «Microeconomía»; descuento: 30,00\xa0€ → 10,00\xa0€; "
        "total: 152,40\xa0€ → 85,00\xa0€; "
        "se paga con: enlace de pago con tarjeta → transferencia"
    )


def test_buyer_pays_the_new_sum_and_never_the_old_one(carla):
    order = make_order(carla, 30_00)
    subject = subject_of(order)
    edit(order, carla, 20_00)

    with pytest.raises(PriceChanged):
        place(checkout(order, subject, 152_40))
    assert place(checkout(order, subject, 162_40)).order.total_cents == 162_40


def test_edit_keeps_the_address_and_takes_the_buyers_code_off(carla):
    order = make_order(carla)
    subject = subject_of(order)
    make_promo("VERANO", value=Decimal(50))
    offered = replace(checkout(order, subject, 91_20), promo_code="VERANO")
    place(offered)

    edit(order, carla, 20_00, email="otra@example.com")

    after = fresh(order)
    assert (after.email, after.promo_code, after.total_cents) == (BRUNO["email"], None, 162_40)
    assert "se quita el código VERANO" in after.events.latest("pk").reason


def test_edits_of_one_order_count_what_they_add(carla):
    limit("Atención", discount_percent=50, discount_a_day=60)
    order = make_order(carla, 30_00)
    for discount_cents in (40_00, 10_00, 40_00):
        edit(order, carla, discount_cents)
        assert counted() == Decimal("40.00")
    assert not fresh(order).by_staff.awaits_approval

    eva = member("eva", "Atención")
    edit(order, eva, 35_00)
    assert fresh(order).by_staff.actor == "carla"
    edit(order, eva, 50_00)
    assert [row.amount for row in StaffDiscount.objects.order_by("pk")] == [30, 10, 10]
    assert fresh(order).by_staff.actor == "eva"
    # Of carla's 60 € of today 20 € are left, and what eva gave is hers.
    other = make_order(carla, 20_00, subject=make_subject("Derecho"))
    assert not other.by_staff.awaits_approval
    edit(other, carla, 20_01)
    assert fresh(other).by_staff.awaits_approval


def five_courses():
    """Other courses, which cost 822 € together: 150 € are 18.2 % of it."""
    return tuple(CheckoutItem(make_subject(f"Cara {number}").pk) for number in range(5))


def owner():
    return User.objects.create_superuser("olga", email="olga@example.com")


def test_discount_of_somebody_else_counts_anew_for_other_courses(carla):
    """The owner has given it for one cart. For another one the clerk answers."""
    order = make_order(owner(), 150_00)
    edit(order, carla, 150_00, items=five_courses(), cents=822_00)
    row = fresh(order).by_staff
    assert (row.awaits_approval, row.actor) == (True, "carla")
    assert not StaffDiscount.objects.filter(user=carla).exists()

    edit(order, carla, 100_00, items=five_courses(), cents=822_00)
    assert not fresh(order).by_staff.awaits_approval
    assert StaffDiscount.objects.get(user=carla).amount == 100
    # What counted for her counts no second time, and what counted for the owner never for her.
    other = {"items": five_courses(), "cents": 822_00}
    edit(order, carla, 100_00, **other)
    assert not fresh(order).by_staff.awaits_approval
    edit(order, carla, 100_01, **other)
    assert fresh(order).by_staff.awaits_approval
    assert StaffDiscount.objects.get(user=carla).amount == 100


@pytest.mark.parametrize(
    "way", ["small raise", "less once it waits", "other payment type", "cart of a friend"]
)
def test_discount_of_somebody_else_is_not_taken_over_in_steps(carla, way):
    mine = {"items": five_courses(), "cents": 822_00}
    order = create_order(
        wanted(150_00, items=mine["items"]), seen_cents=822_00 - 150_00, user=owner()
    )
    if way == "small raise":
        edit(order, carla, 151_00, **mine)
        edit(order, carla, 151_00, **{**mine, "items": five_courses()})
    elif way == "less once it waits":
        others = {**mine, "items": five_courses()}
        edit(order, carla, 150_00, **others)
        edit(order, carla, 149_99, **others)
    elif way == "other payment type":
        priced = price_edit(
            order, order.by_staff, wanted(150_00, items=mine["items"], payment_type=INSTALMENTS)
        )
        cents = priced.priced.agreed.total_cents + 150_00
        edit(order, carla, 150_00, **{**mine, "cents": cents}, payment_type=INSTALMENTS)
    else:
        others = five_courses()
        cart = replace(checkout(order, make_subject(), 822_00), items=others)
        place(cart)
        edit(order, carla, 150_00, items=others, cents=822_00)
    row = fresh(order).by_staff
    assert (row.awaits_approval, row.actor) == (True, "carla")


@pytest.mark.parametrize("given_cents", [150_00, 36_00, 200_00])
def test_discount_of_somebody_else_is_not_raised_again_at_another_address(carla, given_cents):
    """After the new address nothing is left of what counted for the others, nor if it waited."""
    mine = {"items": five_courses(), "cents": 822_00}
    is_waiting = given_cents == 200_00
    giver = member("diego", "Dirección") if is_waiting else owner()
    first_cents = 100_00 if is_waiting else 150_00
    order = create_order(
        wanted(first_cents, items=mine["items"]), seen_cents=822_00 - first_cents, user=giver
    )
    if given_cents != first_cents:
        edit(order, giver, given_cents, **mine)
    assert fresh(order).by_staff.awaits_approval == is_waiting
    change_address(order.pk, email="amiga@example.com", actor="carla")
    assert fresh(order).by_staff.awaits_approval == (given_cents != 36_00)

    edit(order, carla, 149_99, **mine)
    assert fresh(order).by_staff.awaits_approval


def test_owner_edits_the_order_of_a_clerk_and_the_clerk_its_contact_data(carla):
    olga = owner()
    order = make_order(carla, 30_00)
    other = make_subject("Otra")
    edit(order, olga, 150_00, subject=other)
    row = fresh(order).by_staff
    assert (row.awaits_approval, row.actor) == (False, "olga")

    edit(order, carla, 150_00, subject=other, phone="+34600111222", paid_by=TRANSFER)
    row = fresh(order).by_staff
    assert (row.awaits_approval, row.actor) == (False, "olga")
    assert StaffDiscount.objects.get(user=carla).amount == 30


def test_edit_above_the_limit_waits_and_sells_nothing(carla):
    order = make_order(carla, 30_00)

    told = edit(order, carla, 36_49)

    assert "Espera a que otra persona" in told
    assert fresh(order).by_staff.awaits_approval
    assert (len(mails()), counted()) == (1, Decimal("30.00"))
    for cents in (145_91, 152_40):
        with pytest.raises(PriceChanged):
            place(checkout(order, subject_of(order), cents))
    with pytest.raises(OrderAwaitsApproval):
        place(checkout(order, subject_of(order), 182_40))
    with pytest.raises(OrderRefused, match="otra persona"):
        approve_order(order.pk, user=carla, seen=fresh(order).by_staff.version)


def test_approval_holds_for_the_terms_that_it_was_given_for(carla):
    diego = member("diego", "Dirección")
    order = make_order(carla, 100_00)
    approve_order(order.pk, user=diego, seen=fresh(order).by_staff.version)

    told = edit(order, carla, 100_00, phone="+34600111222")
    assert "no recibe nada" in told
    assert (fresh(order).by_staff.approved_by, fresh(order).phone) == ("diego", "+34600111222")
    edit(order, carla, 100_00, phone="+34600111222", paid_by=TRANSFER)
    assert fresh(order).by_staff.approved_by == "diego"
    assert len(mails()) == 2

    dearer = make_subject("Macro", price="210.00")
    edit(order, carla, 100_00, subject=dearer, cents=199_50)
    row = fresh(order).by_staff
    assert (row.awaits_approval, row.approved_by) == (True, "")


def test_approver_approves_only_what_was_on_their_page(carla):
    diego = member("diego", "Dirección")
    order = make_order(carla, 40_00)
    seen = fresh(order).by_staff.version
    edit(order, carla, 180_00)

    for act in (approve_order, refuse_order):
        more = {"reason": "Es mucho"} if act is refuse_order else {}
        with pytest.raises(OrderRefused, match="ha cambiado"):
            act(order.pk, user=diego, seen=seen, **more)
    assert fresh(order).by_staff.awaits_approval

    seen = fresh(order).by_staff.version
    Order.objects.filter(pk=order.pk).update(email="clara@example.com")
    with pytest.raises(OrderRefused, match="ha cambiado"):
        approve_order(order.pk, user=diego, seen=seen)


def test_nobody_approves_what_they_have_made_or_edited_themselves(carla):
    """Also after a colleague's edit, who then answers for the order."""
    diego = member("diego", "Dirección")
    order = make_order(diego, 150_00)
    edit(order, carla, 150_00, subject=make_subject("Otra"))
    row = fresh(order).by_staff
    assert (row.actor, row.awaits_approval) == ("carla", True)
    with pytest.raises(OrderRefused, match="otra persona"):
        approve_order(order.pk, user=diego, seen=row.version)

    other = make_order(carla, subject=make_subject("Derecho"))
    edit(other, diego, 150_00)
    edit(other, carla, 150_00, subject=make_subject("Historia"))
    for act in (approve_order, refuse_order):
        more = {"reason": "Es mucho"} if act is refuse_order else {}
        with pytest.raises(OrderRefused, match="otra persona"):
            act(other.pk, user=diego, seen=fresh(other).by_staff.version, **more)

    eva = member("eva", "Dirección")
    approve_order(other.pk, user=eva, seen=fresh(other).by_staff.version)
    assert fresh(other).by_staff.approved_by == "eva"


def test_owner_approves_an_own_discount_that_waits_after_a_correction(carla):
    """A superuser may give all of it alone. The only approver of a small shop has no colleague."""
    olga = owner()
    order = make_order(olga, 150_00)
    told = change_address(order.pk, email="bruno.bien@example.com", actor="carla")
    assert "El pedido espera a que otra persona apruebe el descuento" in told
    assert fresh(order).by_staff.awaits_approval
    approve_order(order.pk, user=olga, seen=fresh(order).by_staff.version)
    assert fresh(order).by_staff.approved_by == "olga"

    asked = make_order(carla, 150_00, subject=make_subject("Otra"))
    edit(asked, olga, 150_00, phone="+34600111222")
    assert fresh(asked).by_staff.awaits_approval
    approve_order(asked.pk, user=olga, seen=fresh(asked).by_staff.version)
    assert not fresh(asked).by_staff.awaits_approval


def test_owner_approves_no_discount_for_themselves(carla):
    order = make_order(carla, 150_00)
    olga = User.objects.create_superuser("olga", email=BRUNO["email"].upper())
    with pytest.raises(OrderRefused, match="otra persona"):
        approve_order(order.pk, user=olga, seen=fresh(order).by_staff.version)


def test_gift_is_not_edited_above_the_limit(carla):
    order = make_order(carla, 30_00)
    store_details(order, GiftDetails("clara@example.com", "Bruno", today()))
    with pytest.raises(OrderRefused, match="un regalo"):
        edit(order, carla, 100_00)
    edit(order, carla, 20_00)
    assert stored_details(fresh(order)).email == "clara@example.com"


def test_refused_discount_waits_for_its_clerk_with_the_reason(carla):
    diego = member("diego", "Dirección")
    order = make_order(carla, 100_00)
    version = fresh(order).by_staff.version
    with pytest.raises(OrderRefused, match="otra persona"):
        refuse_order(order.pk, user=carla, seen=version, reason="No")

    refuse_order(order.pk, user=diego, seen=version, reason="Es más de la mitad")

    order = fresh(order)
    assert list(StaffOrder.objects.refused()) == [order.by_staff]
    assert not StaffOrder.objects.awaiting_approval().exists()
    assert (order.is_open, mails()) == (True, [])
    assert order.events.latest("pk").reason.endswith("rechazado: Es más de la mitad")
    with pytest.raises(OrderRefused, match="no espera"):
        approve_order(order.pk, user=diego, seen=order.by_staff.version)

    with pytest.raises(OrderRefused, match="No has cambiado nada"):
        edit(order, carla, 100_00)
    edit(order, carla, 100_00, reason="Es para dos hermanas")
    assert list(StaffOrder.objects.awaiting_approval()) == [order.by_staff]
    edit(order, carla, 36_00)
    assert not fresh(order).by_staff.awaits_approval
    assert len(mails()) == 1
    assert "replaces" not in mails()[0].context


def test_second_clerk_is_told_that_the_order_has_changed(carla):
    order = make_order(carla)
    seen = fresh(order).by_staff.version
    edit(order, carla, 10_00)

    with pytest.raises(OrderRefused, match="mientras lo editabas"):
        edit(order, carla, 20_00, seen=seen)
    assert fresh(order).total_cents == 172_40


@pytest.mark.parametrize("status", ["open", "processing", "succeeded"])
def test_order_that_somebody_has_begun_to_pay_is_not_edited(carla, status):
    order = make_order(carla)
    Payment.objects.create(order=order, reference="pi_1", amount=10, status=status)

    with pytest.raises(OrderRefused):
        edit(order, carla, 10_00)
    assert fresh(order).total_cents == 182_40


@pytest.mark.parametrize("state", [{"renewal": True}, {"user": None, "actor": "comprador"}])
def test_order_whose_price_is_not_of_staff_is_not_edited(carla, state):
    order = make_order(carla)
    StaffOrder.objects.update(**state)

    with pytest.raises(OrderRefused, match="no lo pone el equipo"):
        edit(order, carla, 10_00)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("first", ["payment", "edit"])
def test_edit_and_payment_at_the_same_moment_leave_no_payment_of_the_old_sum(first):
    clerk = member("carla", "Atención")
    order = make_order(clerk)
    seen, subject = order.by_staff.version, subject_of(order)

    def pay():
        return open_payment(
            order_id=order.pk, revision=order.revision, reference="pi_1", amount_cents=182_40
        )

    def change():
        return edit(order, clerk, 10_00, seen=seen, subject=subject)

    if first == "payment":
        with pytest.raises(OrderRefused, match="ha abierto el pago"):
            in_the_same_instant(pay, change)
        assert fresh(order).total_cents == 182_40
    else:
        # The caller cancels the payment at Stripe.
        assert in_the_same_instant(change, pay)[1] is False
        assert not Payment.objects.exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_two_edits_at_once_one_is_refused():
    clerk = member("carla", "Atención")
    order = make_order(clerk)
    seen, discounts = order.by_staff.version, [10_00, 20_00]

    results = in_parallel(lambda: edit(order, clerk, discounts.pop(), seen=seen), times=2)

    assert sum(isinstance(result, OrderRefused) for result in results) == 1
    assert fresh(order).by_staff.discount == counted()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_approval_during_an_edit_approves_nothing_unseen():
    clerk, approver = member("carla", "Atención"), member("diego", "Dirección")
    order = make_order(clerk, 40_00)
    seen = order.by_staff.version

    with pytest.raises(OrderRefused, match="ha cambiado"):
        in_the_same_instant(
            lambda: edit(order, clerk, 180_00, seen=seen),
            lambda: approve_order(order.pk, user=approver, seen=seen),
        )
    assert fresh(order).by_staff.awaits_approval


def test_page_shows_what_changes_and_asks_for_the_password_as_a_new_order_does(carla):
    client = Client()
    client.force_login(carla)
    order = make_order(carla, 30_00)
    page = reverse("admin:orders_order_editar", args=[order.pk])
    home = reverse("admin:orders_order_change", args=[order.pk])
    assert page in client.get(home).text
    form = client.get(page).context["form"]
    typed = {field.name: field.value() for field in form.visible_fields()}
    assert (typed["email"], typed["subjects"]) == (BRUNO["email"], [subject_of(order).pk])
    sent = {**typed, "email": "otra@example.com", "version": form["version"].value()}

    shown = client.post(page, {**sent, "discount": "20,00", "preview": "x"})
    assert "total: 152,40\xa0€ → 162,40\xa0€" in shown.text
    hidden = {name: shown.context[name] for name in ("form_key", "seen")}
    done = client.post(page, {**sent, **hidden, "discount": "20,00", "confirm": "x"}, follow=True)
    assert "recibe un correo con el pago nuevo" in done.text
    assert (fresh(order).total_cents, fresh(order).email) == (162_40, BRUNO["email"])
    assert StaffAction.objects.filter(text__contains="152,40\xa0€ → 162,40").exists()
    again = client.post(page, {**sent, **hidden, "discount": "20,00", "confirm": "x"}, follow=True)
    assert "Ya estaba hecho" in again.text

    session = client.session
    session[GIVEN_AT] = (timezone.now() - timedelta(hours=1)).isoformat()
    session.save()
    asked = client.post(page, {**sent, "discount": "90,00", "reason": "Becada", "preview": "x"})
    # The password page sends the form on.
    assert asked.status_code == 307
    assert "clave" in asked["Location"]

    client.force_login(member("mario", "Contabilidad"))
    assert client.get(page).status_code == 403
    Payment.objects.create(order=order, reference="pi_1", amount=10, status="open")
    client.force_login(carla)
    shown = client.get(home).text
    assert page not in shown
    assert "El comprador ha abierto el pago con tarjeta" in shown
    assert "ha abierto el pago" in client.get(page, follow=True).text


def test_buttons_refuse_with_a_reason_that_the_clerk_reads(carla):
    client = Client()
    order = make_order(carla, 100_00)
    page = reverse("admin:orders_order_change", args=[order.pk])
    refuse = reverse("admin:orders_order_rechazar", args=[order.pk])
    client.force_login(carla)
    assert refuse not in client.get(page).text
    assert client.post(refuse, {"reason": "Sí"}).status_code == 403

    client.force_login(User.objects.create_superuser("olga"))
    seen = {"seen": order.by_staff.version}
    assert refuse in client.get(page).text
    client.post(refuse, {**seen, "reason": " "})
    assert not StaffOrder.objects.refused().exists()
    client.post(refuse, {**seen, "reason": "Es más de la mitad"})
    assert refuse not in client.get(page).text

    client.force_login(carla)
    shown = client.get(page).text
    assert "Descuento rechazado por olga: Es más de la mitad" in shown
    assert "Descuentos rechazados" in client.get(reverse("admin:index")).text

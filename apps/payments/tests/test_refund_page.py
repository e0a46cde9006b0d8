"""The admin's page for refunds: who may, what it shows, and that only the last click does it."""

import pytest
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse

from apps.classroom.models import Enrolment
from apps.core.mail.registry import render_for_staff
from apps.core.models import Mail, StaffAction
from apps.orders.models import Dispute, Payment, Refund
from tests.helpers.admin import make_staff
from tests.helpers.factories import make_subject
from tests.helpers.refunds import buy, make_clerk

pytestmark = pytest.mark.django_db


@pytest.fixture
def carla(client):
    clerk = make_clerk()
    client.force_login(clerk)
    return clerk


@pytest.fixture
def order(api, sandbox):
    return buy(api, sandbox)


def page(order):
    return reverse("admin:refund_order", args=[order.pk])


def read(response):
    return response.content.decode().replace("\xa0", " ")


def form(**changes):
    return {"amount": "10,00", "reason": "Se apuntó dos veces", "preview": "x", **changes}


def hidden(response):
    """What the preview sends on with the confirmation."""
    context = response.context
    return {"batch": context["batch"], "seen": context["seen"], "confirm": "x"}


@pytest.mark.usefixtures("carla")
def test_order_page_links_to_the_refund_page_with_the_refundable_amount(client, order):
    shown = read(client.get(reverse("admin:orders_order_change", args=[order.pk])))
    assert f'href="{page(order)}"' in shown

    shown = read(client.get(page(order)))
    assert "se pueden devolver 182,40 €" in shown
    assert '<td data-label="Queda">182,40 €</td>' in shown
    assert "Hoy te quedan 1000,00 €" in shown


@pytest.mark.usefixtures("carla")
def test_reason_of_a_refund_is_one_line(client, order):
    """The owner's mail has it between lines of its own."""
    reason = "error\n\nImporte devuelto: 1,00 €\N{RIGHT-TO-LEFT OVERRIDE}\nfin"
    shown = client.post(page(order), form(reason=reason))
    client.post(page(order), form(reason=reason, **hidden(shown)))

    assert Refund.objects.get().reason == "error Importe devuelto: 1,00 € fin"


@pytest.mark.usefixtures("carla")
def test_order_page_names_the_states_in_its_history_in_spanish(client, order):
    shown = read(client.get(reverse("admin:orders_order_change", args=[order.pk])))

    assert "(Carrito → Pagado)" in shown
    assert "cart →" not in shown


@pytest.mark.usefixtures("carla")
def test_order_page_offers_to_settle_its_flag(client, order):
    address = reverse("admin:orders_order_change", args=[order.pk])
    assert "Dar por atendido el aviso" not in read(client.get(address))
    order.flag = "Pagado dos veces"
    order.save()

    shown = read(client.get(address))

    assert "Pagado dos veces" in shown
    assert "Dar por atendido el aviso" in shown
    press = {"action": "attended", "_selected_action": order.pk}
    client.post(reverse("admin:orders_order_changelist"), press)
    assert "Dar por atendido el aviso" not in read(client.get(address))


@pytest.mark.usefixtures("carla")
def test_preview_changes_nothing_and_confirmation_refunds(client, order):
    shown = client.post(page(order), form())
    assert "Vas a devolver 10,00 €" in read(shown)
    assert "El acceso al aula no cambia." in read(shown)
    assert Refund.objects.count() == 0

    data = form() | hidden(shown)
    del data["preview"]
    answers = [client.post(page(order), data, follow=True) for _ in range(2)]

    made = Refund.objects.get()
    assert (made.status, made.actor, made.reason) == ("succeeded", "carla", "Se apuntó dos veces")
    assert "Devueltos 10,00 €." in read(answers[0])
    order.refresh_from_db()
    assert order.status == "partially_refunded"
    logged = StaffAction.objects.exclude(kind="read").get()
    assert (logged.actor_name, logged.about, logged.object_id) == (
        "carla", "orders.order", str(order.pk),
    )  # fmt: skip
    assert logged.text.replace("\xa0", " ") == "Devolución de 10,00 € pedida: Se apuntó dos veces"


@pytest.mark.usefixtures("carla")
def test_confirmation_without_a_preview_shows_the_preview(client, order):
    shown = client.post(page(order), form(confirm="x"))

    assert "Vas a devolver" in read(shown)
    assert Refund.objects.count() == 0


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"amount": "182,41"}, "Se pueden devolver entre 0,01 € y 182,40 €."),
        ({"amount": "0"}, "mayor o igual"),
        ({"amount": "mucho"}, "no es un importe"),
        ({"reason": " "}, "Este campo es requerido"),
    ],
)
def test_invalid_amount_is_refused_with_an_explanation(client, order, changes, message):
    shown = read(client.post(page(order), form(**changes)))

    assert message in shown
    assert "Vas a devolver" not in shown


@pytest.fixture
def two_lines(api, sandbox, work):
    """Two subjects of 192 € with all discounts at 349.80 €: 174.90 € each. Their access is open."""
    order = buy(api, sandbox, make_subject("Micro"), make_subject("Macro"), total="349.80")
    work()
    return order


@pytest.mark.usefixtures("carla")
def test_ticked_line_is_refunded_with_what_was_paid_for_it(client, two_lines, work):
    kept, returned = two_lines.lines.all()
    data = form(amount="", lines=[returned.pk])

    shown = client.post(page(two_lines), data)
    assert Enrolment.objects.count() == 2
    assert "Vas a devolver 174,90 €" in read(shown)
    assert "Se retira el acceso a: Macro." in read(shown)
    assert 'name="amount" value="174,90"' in read(shown)
    client.post(page(two_lines), data | {"amount": "174,90"} | hidden(shown))
    work()

    assert str(Refund.objects.get().amount) == "174.90"
    assert list(Enrolment.objects.values_list("subject", flat=True)) == [kept.subject_id]
    again = read(client.get(page(two_lines)))
    assert f'name="lines" value="{returned.pk}"' not in again
    assert f'name="lines" value="{kept.pk}"' in again
    assert "Devuelta" in again
    twice = read(client.post(page(two_lines), data))
    assert "Vas a devolver" not in twice
    assert Refund.objects.count() == 1


@pytest.mark.usefixtures("carla")
def test_free_amount_takes_no_access(client, two_lines, work):
    shown = client.post(page(two_lines), form(amount="30,01"))
    assert "El acceso al aula no cambia." in read(shown)
    client.post(page(two_lines), form(amount="30,01") | hidden(shown))
    work()

    assert Enrolment.objects.count() == 2
    # It is taken from both lines, to the cent.
    again = read(client.get(page(two_lines)))
    assert '<td data-label="Queda">159,89 €</td>' in again
    assert '<td data-label="Queda">159,90 €</td>' in again


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(
    ("amount", "ticks", "message"),
    [
        ("", False, "Marca lo que se devuelve, o escribe un importe."),
        ("174,91", True, "De lo marcado se pueden devolver 174,90 €."),
    ],
)
def test_refund_of_lines_is_bounded_by_what_was_paid_for_them(
    client, two_lines, amount, ticks, message
):
    lines = [two_lines.lines.last().pk] if ticks else []
    shown = read(client.post(page(two_lines), form(amount=amount, lines=lines)))

    assert message in shown
    assert "Vas a devolver" not in shown


@pytest.mark.usefixtures("carla")
def test_confirmation_of_an_outdated_preview_refunds_nothing(client, order):
    first, second = (client.post(page(order), form()) for _ in range(2))
    client.post(page(order), form() | hidden(first))

    shown = client.post(page(order), form() | hidden(second))

    assert "El pedido ha cambiado mientras tanto" in read(shown)
    assert Refund.objects.count() == 1


@pytest.mark.usefixtures("carla")
def test_order_page_shows_why_stripe_rejected_the_refund(client, order, sandbox):
    sandbox.process.control("POST", "disputes", {"payment_intent": order.stripe_payment_intent_id})
    shown = client.post(page(order), form())

    answer = client.post(page(order), form() | hidden(shown), follow=True)

    assert "No se han devuelto 10,00 €. El pago está en disputa" in read(answer)
    assert Payment.objects.get().refunded == 0


@pytest.mark.usefixtures("carla")
def test_refund_without_an_answer_is_shown_as_pending(client, order, sandbox):
    sandbox.process.fault(calls="POST /v1/refunds", do="timeout_after", seconds=0)
    shown = client.post(page(order), form())
    answer = client.post(page(order), form() | hidden(shown), follow=True)
    sandbox.process.control("DELETE", "faults")

    assert "Se aclara sola en unos minutos: no la pidas otra vez." in read(answer)


@pytest.mark.usefixtures("carla")
def test_form_says_that_a_refund_is_still_unanswered(client, order, sandbox):
    sandbox.process.fault(calls="POST /v1/refunds", do="timeout_before", seconds=0)
    shown = client.post(page(order), form())
    client.post(page(order), form() | hidden(shown))
    sandbox.process.control("DELETE", "faults")

    shown = read(client.get(page(order)))

    assert "Ya está pedida una devolución de 10,00 €" in shown
    assert "se pueden devolver 172,40 €" in shown


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        ("open", "Ese pago no se puede devolver mientras el banco no decida"),
        ("lost", "El banco ha devuelto ya al alumno 182,40 €: la disputa está perdida."),
    ],
)
def test_form_says_why_a_disputed_payment_cannot_be_refunded(client, order, status, sentence):
    Dispute.objects.create(
        payment=order.payments.get(), reference="du_1", amount="182.40", status=status
    )

    shown = read(client.get(page(order)))

    assert sentence in shown
    assert "se pueden devolver 0,00 €" in shown


def test_refund_button_and_page_require_the_permission(client, order):
    user = make_staff("eva", "view_order", client=client)

    order_page = reverse("admin:orders_order_change", args=[order.pk])
    assert page(order) not in read(client.get(order_page))
    assert client.get(page(order)).status_code == 403
    assert client.post(page(order), form(confirm="x", batch="1", seen="18240")).status_code == 403

    user.user_permissions.add(*Permission.objects.filter(codename="refund_order"))
    client.force_login(get_user_model().objects.get(pk=user.pk))
    assert page(order) in read(client.get(order_page))
    assert client.get(page(order)).status_code == 200


def test_refund_form_requires_the_csrf_token(order):
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_clerk())

    assert client.post(page(order), form(confirm="x", batch="1", seen="18240")).status_code == 403
    assert Refund.objects.count() == 0


@pytest.mark.usefixtures("carla")
def test_returned_refund_can_be_marked_as_settled_outside_stripe(client, order, sandbox):
    shown = client.post(page(order), form())
    client.post(page(order), form() | hidden(shown))
    Refund.objects.update(status="failed")

    client.post(
        reverse("admin:orders_refund_changelist"),
        {"action": "mark_paid_by_other_means", "_selected_action": [Refund.objects.get().pk]},
    )

    assert Refund.objects.get().status == "outside"
    assert order.events.latest("pk").actor == "carla"


@pytest.mark.usefixtures("carla")
def test_owner_and_log_read_what_a_refund_of_a_cent_forgives_and_withdraws(
    api, sandbox, work, client
):
    plan = buy(api, sandbox, total="192.00", payment_type="installment")
    work()
    shown = client.post(page(plan), form(amount="0,01", cancels_plan="on"))
    client.post(page(plan), form(amount="0,01", cancels_plan="on", **hidden(shown)))
    two = buy(api, sandbox, make_subject("Uno"), make_subject("Dos"), total="349.80")
    ticked = {"amount": "0,01", "lines": [two.lines.get(name="Dos").pk]}
    shown = client.post(page(two), form(**ticked))
    client.post(page(two), form(**ticked, **hidden(shown)))

    first, second = map(
        render_for_staff, Mail.objects.filter(template="refund_owner").order_by("pk")
    )
    assert first.subject.replace("\xa0", " ").startswith("Devueltos 0,01 € y perdonados 128,00 €")
    assert "perdonado 128,00 € de plazos" in first.text.replace("\xa0", " ")
    assert "Se retira: Dos." in second.text
    log = [row.text.replace("\xa0", " ") for row in StaffAction.objects.order_by("pk")]
    assert any("0,01 € pedida, que perdona 128,00 € de plazos: Se apuntó" in text for text in log)
    assert any("0,01 € pedida, de Dos: Se apuntó" in text for text in log)

"""/desistimiento: two steps, one case for each contract, a stamped acknowledgement."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4
from zoneinfo import ZoneInfo

import pytest
import time_machine
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from apps.classroom.models import Progress, Provisioning
from apps.core.mail.recipient_limits import FORM_MAILS_OF_NETWORK
from apps.core.mail.registry import render_for_staff, render_mail
from apps.core.models import Mail, SiteSettings
from apps.core.privacy import CannotErase, erase_all, export_all, preview_erasure
from apps.leads.models import Withdrawal
from apps.leads.withdrawal.privacy import KEPT_WITHOUT_ORDER, _purge
from apps.leads.withdrawal.services import acknowledge
from apps.orders.models import Order, Payment, Refund
from apps.orders.refunds.available import refundable_cents
from apps.orders.refunds.effects import RefundRequest
from apps.orders.refunds.record import ReportedRefund, record_refunds
from apps.orders.refunds.request import request_refund
from apps.orders.withdrawal_link import last_day_to_withdraw, withdrawal_url
from apps.students.models import Student
from tests.helpers.admin import admin_url, make_staff
from tests.helpers.factories import make_subject
from tests.helpers.parallel import in_parallel
from tests.helpers.refunds import make_clerk

pytestmark = pytest.mark.django_db
MADRID = ZoneInfo("Europe/Madrid")
PAGE = "/desistimiento"
CONFIRM = "Confirmar desistimiento"


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch):
    """The time that hides whether an order exists costs these tests 0.2 s for each statement."""
    monkeypatch.setattr("apps.core.web.timing.MINIMUM_S", 0)


@pytest.fixture
def order():
    return make_order("ana@example.com")


def make_order(email, **fields):
    student = Student.objects.create(email=email)
    fields = {"status": Order.Status.PAID, "paid_at": timezone.now(), **fields}
    return Order.objects.create(
        student=student, email=email, phone="+34600111222", total_amount=Decimal("190.00"),
        payment_type="full_payment", **fields,
    )  # fmt: skip


@pytest.fixture
def clerk(client):
    make_staff(
        "carla", "view_withdrawal", "change_withdrawal", "refund_order", "view_order", client=client
    )
    return client


def statement(order=None, **changes):
    number = str(order.pk) if order else ""
    return {"name": "Ana Gil", "email": "ana@example.com", "order_number": number, **changes}


def confirm(client, order=None, **changes):
    return client.post(PAGE, {**statement(order, **changes), "confirm": "1"})


def token_of(order):
    """The token of the link in the order's confirmation mail."""
    return parse_qs(urlsplit(withdrawal_url(order)).query)["clave"][0]


def mails(template):
    return list(Mail.objects.filter(template=template).order_by("pk"))


def test_the_statement_is_shown_before_it_is_confirmed(client, order):
    form = client.get(f"{PAGE}?pedido={order.pk}")
    assert "Desistir del contrato aquí</button>" in form.content.decode()
    assert f'value="{order.pk}"' in form.content.decode()
    assert not form.cookies

    review = client.post(PAGE, statement(order)).content.decode()
    assert f"{CONFIRM}</button>" in review
    assert not Withdrawal.objects.exists()
    assert not Mail.objects.exists()

    corrected = client.post(PAGE, {**statement(order), "change": "1"}).content.decode()
    assert 'value="Ana Gil"' in corrected
    assert not Withdrawal.objects.exists()


def test_a_confirmed_statement_is_acknowledged_with_content_date_and_time(client, order):
    with time_machine.travel(datetime(2026, 11, 22, 10, 30, 15, tzinfo=MADRID), tick=False):
        page = confirm(client, order, details="Solo Álgebra", clave=token_of(order)).text
        case = Withdrawal.objects.get()
    assert (case.order, case.status, case.acknowledged) == (order, "open", True)
    assert "22 de noviembre de 2026 a las 10:30:15" in page

    [mail] = mails("withdrawal_acknowledged")
    assert mail.to == "ana@example.com"
    text = render_for_staff(mail).text
    for part in (
        "22 de noviembre de 2026 a las 10:30:15",
        "Ana Gil",
        f"{order.pk}",
        "Solo Álgebra",
    ):
        assert part in text
    [to_staff] = mails("withdrawal_received")
    assert "06/12/2026" in render_for_staff(to_staff).text


def test_a_repeated_statement_makes_no_second_case_and_no_second_mail(client, order):
    confirm(client, order)
    again = {"email": " Ana+x@Example.com", "order_number": f"Pedido n.º 0{order.pk}"}
    assert confirm(client, **again).status_code == 200

    assert Withdrawal.objects.count() == 1
    assert Mail.objects.count() == 2


def test_a_later_statement_with_another_text_is_kept_and_reopens_the_case(client, order):
    confirm(client, order)
    Withdrawal.objects.update(status="declined", resolved_at=timezone.now())
    for _ in range(2):
        confirm(client, order, details="También de\nÁlgebra", clave=token_of(order))

    case = Withdrawal.objects.get()
    first, later = mails("withdrawal_acknowledged")
    assert "También de Álgebra" not in render_for_staff(first).text
    assert "También de Álgebra" in render_for_staff(later).text
    assert (case.status, case.resolved_at) == ("open", None)
    assert case.later_statements.count("Ana Gil: También de Álgebra") == 1


@pytest.mark.parametrize("token", ["", "x", "of another order", "of another address"])
def test_no_mail_repeats_the_text_of_a_statement_without_the_link_of_the_purchase(
    client, order, token
):
    """A stranger who guesses a number could otherwise write to a buyer in the academy's name."""
    Student.objects.update(email_confirmed_at=timezone.now())
    if token == "of another order":
        token = token_of(make_order("bruno@example.com"))
    elif token == "of another address":
        token = token_of(order)
        Order.objects.filter(pk=order.pk).update(email="otra@example.com")
    for number in range(2):
        text = {"name": "Gana dinero", "details": f"http://spam{number}.example"}
        assert confirm(client, order, clave=token, **text).status_code == 200

    sent = mails("withdrawal_acknowledged")
    texts = [render_mail(m.template, m.context, reveal=True, to=m.to).text for m in sent]
    assert len(texts) == 2
    assert not [text for text in texts if "spam" in text or "Gana dinero" in text]


@pytest.mark.parametrize("with_link", [True, False])
def test_the_owner_s_statement_is_kept_and_acknowledged_after_a_stranger_s(
    client, order, settings, with_link
):
    """A stranger has filled the case of the order, and used up the budget of the mailbox."""
    settings.RATE_LIMIT_SCALE = 10
    settings.MAILS_PER_RECIPIENT = 1 if with_link else 20
    for number in range(20):
        assert confirm(client, order, name="X", details=f"{number} {'y' * 490}").status_code == 200
    before = Mail.objects.filter(template="withdrawal_acknowledged", status="queued").count()

    key = {"clave": token_of(order)} if with_link else {}
    for _ in range(2):
        confirm(client, order, details="Yo desisto", **key)

    case = Withdrawal.objects.latest("pk")
    assert case.acknowledged
    assert "Yo desisto" in case.later_statements + case.details
    assert case.order == order
    assert Withdrawal.objects.count() == 3
    [mail] = mails("withdrawal_acknowledged")[20:]
    assert mail.status == "queued"
    assert ("Yo desisto" in render_for_staff(mail).text) == with_link
    assert before == (1 if with_link else 20)


def test_the_owner_gets_the_acknowledgement_of_a_case_that_a_stranger_began_with_a_tag(
    client, order
):
    """Not every mailbox takes mails to an address with a tag."""
    confirm(client, order, email="ana+tag@example.com")

    confirm(client, order, clave=token_of(order), details="Yo desisto")

    assert mails("withdrawal_acknowledged")[-1].to == "ana@example.com"
    assert Withdrawal.objects.get().email == "ana@example.com"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_the_same_statement_sent_twice_at_once_makes_one_case(order):
    in_parallel(lambda: confirm(Client(), order), 2)
    assert Withdrawal.objects.count() == 1
    assert Mail.objects.count() == 2


def test_the_page_does_not_disclose_whether_order_or_address_exist(client, order):
    confirm(client, order, name="Texto de Ana", details="Mi secreto")
    with time_machine.travel(timezone.now(), tick=False):
        pages = {
            confirm(client, name="X", email=email, order_number=number).content.decode()
            .replace(email, "E").replace(f"<dd>{number}</dd>", "N")
            for email, number in (
                ("ana@example.com", f"{order.pk}"),
                ("ana@example.com", "999999"),
                ("nadie@example.com", f"{order.pk}"),
            )
        }  # fmt: skip
    assert len(pages) == 1
    assert "secreto" not in pages.pop()


def test_a_number_of_somebody_else_is_not_linked(client, order):
    confirm(client, order, email="bruno@example.com")
    case = Withdrawal.objects.get()
    assert case.order is None


def test_a_mail_to_an_unknown_address_repeats_no_typed_text(client, order):
    confirm(client, email="x@example.com", name="Gana dinero", details="http://spam.example")
    [mail] = mails("withdrawal_acknowledged")
    text = render_for_staff(mail).text
    assert "Gana dinero" not in text
    assert "spam.example" not in text


def test_statements_above_the_budget_of_a_mailbox_are_kept_without_a_mail(client, order, settings):
    settings.MAILS_PER_RECIPIENT = 4  # One, and three that are kept for links.
    for details in ("uno", "dos"):
        assert confirm(client, details=details).status_code == 200
    assert Withdrawal.objects.filter(acknowledged=False).count() == 1
    confirm(client, order)  # The order is of this address, so that its mail is always sent.

    statuses = [mail.status for mail in mails("withdrawal_acknowledged")]
    assert sorted(statuses) == ["queued", "queued", "withheld"]


def test_acknowledgements_to_strangers_above_those_of_a_network_are_withheld(
    client, order, settings, monkeypatch
):
    settings.RATE_LIMIT_SCALE = 1
    one = replace(FORM_MAILS_OF_NETWORK, times=1)
    monkeypatch.setattr("apps.core.mail.recipient_limits.FORM_MAILS_OF_NETWORK", one)
    for number in range(2):
        confirm(client, email=f"x{number}@example.com", details="Compra")
    confirm(client, order)
    first, second, own = [mail.status for mail in mails("withdrawal_acknowledged")]
    assert (first, second, own) == ("queued", "withheld", "queued")
    assert Withdrawal.objects.filter(acknowledged=False).count() == 1


@pytest.mark.dates
def test_a_visitor_may_confirm_ten_statements_in_ten_minutes(client, settings):
    settings.RATE_LIMIT_SCALE = 1
    with time_machine.travel(datetime(2026, 11, 22, 10, 0, tzinfo=MADRID), tick=False):
        answers = [confirm(client, details=f"Compra {n}") for n in range(11)]
    assert [answer.status_code for answer in answers] == [200] * 10 + [429]
    assert int(answers[-1]["Retry-After"]) > 0
    assert "Compra 10" in answers[-1].content.decode()
    assert Withdrawal.objects.count() == 10


@pytest.mark.parametrize(
    "changes",
    [
        {"name": ""},
        {"email": "no"},
        {"order_number": "", "details": ""},
        {"order_number": "9" * 13},
        {"order_number": "doce"},
        # In the digits of 66 scripts one order would have any number of cases, each with its mail.
        {"order_number": "1\N{ARABIC-INDIC DIGIT TWO}"},
        {"order_number": "\N{FULLWIDTH DIGIT ONE}2\N{FULLWIDTH DIGIT THREE}"},
        {"name": "a\0b", "details": "x"},
        {"details": "x" * 501},
    ],
    ids=repr,
)
def test_a_bad_field_is_refused_with_the_form(client, changes):
    page = confirm(client, **{"order_number": "1", **changes})
    assert page.status_code == 200
    assert "field__error" in page.content.decode()
    assert not Withdrawal.objects.exists()


def test_another_site_can_not_send_a_statement(client, order):
    headers = {"Origin": "https://other.example"}
    answer = client.post(PAGE, {**statement(order), "confirm": "1"}, headers=headers)
    assert answer.status_code == 403
    assert not Withdrawal.objects.exists()


def test_a_period_that_ends_on_a_weekend_lasts_until_monday():
    bought = datetime(2026, 11, 6, 23, 30, tzinfo=MADRID)  # 14 days later is a Friday.
    assert f"{last_day_to_withdraw(bought):%d/%m}" == "20/11"
    assert f"{last_day_to_withdraw(bought + timedelta(days=1)):%d/%m}" == "23/11"


@pytest.mark.dates
def test_open_cases_know_late_ones(clerk, order):
    confirm(clerk, order)
    assert Withdrawal.objects.open().count() == 1
    last_day = timezone.now() + timedelta(days=14)
    with time_machine.travel(last_day):
        assert Withdrawal.objects.overdue().count() == 0
    with time_machine.travel(last_day + timedelta(days=1)):
        assert Withdrawal.objects.overdue().count() == 1
        clerk.force_login(User.objects.get())
        shown = clerk.get(admin_url(Withdrawal, "changelist"), {"situacion": "vencida"})
        assert "(vencido)" in shown.content.decode()


def test_a_case_shows_what_was_used_and_counts_as_refunded_only_after_a_refund(clerk, order):
    confirm(clerk, order)
    case = Withdrawal.objects.get()
    page = clerk.get(admin_url(Withdrawal, "change", case.pk)).content.decode()
    assert "El acceso no se ha creado." in page

    url = admin_url(Withdrawal, "change", case.pk)
    answer = clerk.post(url, {"status": "refunded", "order": order.pk, "note": ""})
    assert "hazla primero" in answer.content.decode()
    payment = Payment.objects.create(
        order=order, reference="pi_1", amount=190, status="succeeded", refunded=10
    )
    Refund.objects.create(
        payment=payment, batch="b", amount=10, reason="Desiste", actor="carla", status="succeeded"
    )
    assert clerk.post(url, {"status": "refunded", "order": order.pk}).status_code == 302
    case.refresh_from_db()
    assert case.status == "refunded"
    assert case.resolved_at is not None


def refund_of(order):
    payment = Payment.objects.create(
        order=order, reference=f"pi_{order.pk}", amount=190, status="succeeded", refunded=10
    )
    return Refund.objects.create(
        payment=payment, batch="b", amount=10, reason="Desiste", actor="carla", status="succeeded"
    )


def test_refund_from_before_the_statement_closes_no_case(clerk, order):
    refund_of(order)
    confirm(clerk, order)
    Refund.objects.update(created_at=timezone.now() - timedelta(days=1))
    url = admin_url(Withdrawal, "change", Withdrawal.objects.get().pk)
    answer = clerk.post(url, {"status": "refunded", "order": order.pk})
    assert "desde que desistió" in answer.content.decode()


def test_refund_of_another_mailbox_closes_a_case_only_for_those_who_refund(clerk, order):
    confirm(clerk, order)
    case = Withdrawal.objects.get()
    Withdrawal.objects.update(email_identity="otra@example.com")
    refund_of(order)
    nora = Client()
    make_staff("nora", "view_withdrawal", "change_withdrawal", "view_order", client=nora)
    url = admin_url(Withdrawal, "change", case.pk)
    answer = nora.post(url, {"status": "refunded", "order": order.pk})
    assert "Ese pedido es de otro correo" in answer.content.decode()
    assert clerk.post(url, {"status": "refunded", "order": order.pk}).status_code == 302


def test_a_case_shows_no_order_to_whoever_may_not_read_orders(clerk, order):
    confirm(clerk, order)
    other = make_order("otra@example.com")
    gil = Client()
    make_staff("gil", "view_withdrawal", "change_withdrawal", client=gil)
    url = admin_url(Withdrawal, "change", Withdrawal.objects.get().pk)
    assert "190,00" in clerk.get(url).text
    assert "190,00" not in gil.get(url).text
    sent = {"status": "open", "order": other.pk, "note": "Llamar"}
    assert gil.post(url, sent).status_code == 302
    case = Withdrawal.objects.get()
    assert (case.note, case.order) == ("Llamar", order)


def test_a_case_has_what_the_classroom_says_as_proof_of_use(clerk, order):
    confirm(clerk, order)
    subject = make_subject("Microeconomía")
    Provisioning.objects.create(
        order_id=order.pk, student=order.student, status="created", items=[[subject.pk, None]]
    )
    visit = datetime(2026, 3, 2, 10, tzinfo=UTC)
    Progress.objects.create(
        student=order.student, subject=subject, done=2, total=5, last_access_at=visit,
        measured_at=timezone.now(),
    )  # fmt: skip
    url = admin_url(Withdrawal, "change", Withdrawal.objects.get().pk)
    assert "No ha llegado a entrar" in clerk.get(url).content.decode()
    SiteSettings.current()
    SiteSettings.objects.update(classroom_progress=True)
    page = clerk.get(url).content.decode()
    assert f"{subject}: 2 de 5 actividades hechas, última visita el 02/03/2026." in page


def refunded(order, cents, *lines, after=timedelta(0)):
    """A refund that a clerk confirms at that time from now, and that Stripe makes."""
    with time_machine.travel(timezone.now() + after, tick=False):
        ids = request_refund(
            order_id=order.pk,
            request=RefundRequest(cents, "Desiste", frozenset(line.pk for line in lines)),
            batch=uuid4().hex,
            user=make_clerk(f"clerk{Refund.objects.count()}"),
            seen_cents=refundable_cents(order),
        )
        for refund in Refund.objects.filter(pk__in=ids):
            report = ReportedRefund(f"re_{refund.pk}", cents, "succeeded", refund.key_id)
            record_refunds(payment_id=refund.payment_id, reports=[report], provider="Stripe")


def test_a_case_is_resolved_by_the_refund_of_lines_or_of_everything(client, order):
    subject = make_subject("Micro")
    line = order.lines.create(subject=subject, name="Micro", list_price=190, price=190)
    Payment.objects.create(order=order, reference="pi_1", amount=190, status="succeeded")
    refunded(order, 1000, after=-timedelta(hours=2))
    confirm(client, order)
    refunded(order, 1000, after=timedelta(minutes=1))
    assert Withdrawal.objects.get().status == "open"

    refunded(order, 16_000, line, after=timedelta(minutes=2))

    case = Withdrawal.objects.get()
    assert case.status == "refunded"
    assert case.resolved_at is not None
    # Further words about the same contract reopen it, and the old refund does not settle them.
    with time_machine.travel(timezone.now() + timedelta(days=1)):
        confirm(client, order, details="Y también el resto")
    refunded(order, 100, after=timedelta(days=1, minutes=1))
    assert Withdrawal.objects.get().status == "open"
    refunded(order, 900, after=timedelta(days=1, minutes=2))
    assert Withdrawal.objects.get().status == "refunded"


def test_a_case_stays_open_while_one_of_its_lines_is_not_refunded(client, order):
    lines = [
        order.lines.create(subject=make_subject(name), name=name, list_price=95, price=95)
        for name in ("Micro", "Macro")
    ]
    Payment.objects.create(order=order, reference="pi_1", amount=190, status="succeeded")
    confirm(client, order)
    refunded(order, 9_500, lines[0], after=timedelta(minutes=1))
    assert Withdrawal.objects.get().status == "open"

    refunded(order, 9_000, lines[1], after=timedelta(minutes=2))
    assert Withdrawal.objects.get().status == "refunded"


def test_only_staff_who_may_refund_get_the_link_to_the_refund_of_an_open_case(clerk, order):
    confirm(clerk, order)
    url = admin_url(Withdrawal, "change", Withdrawal.objects.get().pk)
    assert "No queda nada por devolver." in clerk.get(url).text
    Payment.objects.create(order=order, reference="pi_1", amount=190, status="succeeded")
    assert f"/admin/devolver/{order.pk}" in clerk.get(url).content.decode()
    for status in ("refunded", "declined"):
        Withdrawal.objects.update(status=status)
        assert "/admin/devolver/" not in clerk.get(url).text
    Withdrawal.objects.update(status="open")
    Permission.objects.get(codename="refund_order").user_set.clear()
    assert "/admin/devolver/" not in clerk.get(url).content.decode()


def test_a_declined_case_needs_an_answer_which_is_mailed_once(clerk, order):
    confirm(clerk, order)
    url = admin_url(Withdrawal, "change", Withdrawal.objects.get().pk)
    decision = {"status": "declined", "order": order.pk}
    assert "Escribe por qué no procede" in clerk.post(url, decision).content.decode()
    refused = clerk.post(url, decision | {"answer": "Usa AMIGO-MIO12345."})
    assert list(refused.context["adminform"].form.errors) == ["answer"]
    assert "No escribas el código de amigo" in refused.text
    assert "Escribe por qué" not in refused.text
    assert not mails("withdrawal_declined")

    for note in ("", "Ha llamado."):
        clerk.post(url, {**decision, "answer": "Ya habías entrado.", "note": note})
    [mail] = mails("withdrawal_declined")
    assert mail.to == "ana@example.com"
    assert "Ya habías entrado." in render_for_staff(mail).text


@pytest.mark.parametrize("how", ["other answer", "reopened", "declined anew"])
def test_answer_that_was_sent_stays_readable(clerk, order, work, how):
    """Else a clerk could write anything to a customer in the academy's name, and replace it."""
    confirm(clerk, order)
    url = admin_url(Withdrawal, "change", Withdrawal.objects.get().pk)
    declined = {"status": "declined", "order": order.pk}
    clerk.post(url, declined | {"answer": "Ingresa antes 50 €."})
    work()
    if how == "other answer":
        clerk.post(url, declined | {"answer": "Lo sentimos."})
    else:
        clerk.post(url, {"status": "open", "order": order.pk})
        clerk.post(url, {"status": "open", "order": order.pk, "answer": ""})
    if how == "declined anew":
        clerk.post(url, declined | {"answer": "Lo sentimos."})

    sent, *later = mails("withdrawal_declined")
    assert "Ingresa antes 50 €." in render_for_staff(sent).text
    assert ["Lo sentimos." in render_for_staff(mail).text for mail in later] == (
        [True] if how == "declined anew" else []
    )
    kept = {"other answer": "Ingresa antes 50 €.", "reopened": "", "declined anew": "Lo sentimos."}
    assert Withdrawal.objects.get().answer == kept[how]


@pytest.mark.parametrize("is_sent_between", [False, True])
def test_case_that_is_declined_twice_in_a_second_has_the_mail_of_its_last_decision(
    clerk, order, work, mailoutbox, is_sent_between
):
    confirm(clerk, order)
    work()
    mailoutbox.clear()
    url = admin_url(Withdrawal, "change", Withdrawal.objects.get().pk)
    declined = {"status": "declined", "order": order.pk}
    with time_machine.travel(timezone.now().replace(microsecond=0), tick=False) as clock:
        clerk.post(url, declined | {"answer": "Primera."})
        clock.shift(0.2)
        clerk.post(url, {"status": "open", "order": order.pk})
        if is_sent_between:
            work()
        clock.shift(0.2)
        clerk.post(url, declined | {"answer": "Segunda."})
        work()

    [sent] = mailoutbox
    assert "Segunda." in sent.body
    assert [mail.status for mail in mails("withdrawal_declined")] == ["dropped", "sent"]


def test_case_that_the_buyer_has_reopened_is_not_declined_again_by_a_form_of_before(clerk, order):
    confirm(clerk, order)
    case = Withdrawal.objects.get()
    url = admin_url(Withdrawal, "change", case.pk)
    decision = {"status": "declined", "order": order.pk, "answer": "Ya habías entrado."}
    clerk.post(url, decision)
    form = clerk.get(url).context["adminform"].form
    confirm(clerk, order, details="Nadie ha entrado")
    sent = {name: form[name].value() for name in form.fields} | {"note": "Ha llamado."}

    assert "cambiado entretanto" in clerk.post(url, sent).text
    case.refresh_from_db()
    assert (case.status, len(mails("withdrawal_declined"))) == ("open", 1)
    assert "Nadie ha entrado" in case.later_statements


@pytest.mark.parametrize("status", ["withheld", "failed", "dropped"])
def test_staff_send_an_acknowledgement_that_was_held_back(clerk, order, status):
    confirm(clerk, order)
    Mail.objects.filter(template="withdrawal_acknowledged").update(status=status)
    case = Withdrawal.objects.get()
    Withdrawal.objects.update(acknowledged=False)
    ticked = {"action": "send_acknowledgement", "_selected_action": [case.pk]}
    for _ in range(2):
        clerk.post(admin_url(Withdrawal, "changelist"), ticked)
    [mail] = mails("withdrawal_acknowledged")
    assert mail.status == "queued"
    assert Withdrawal.objects.get().acknowledged


def test_acknowledgement_that_was_sent_from_the_list_of_mails_is_not_sent_again(clerk, order):
    confirm(clerk, order)
    Mail.objects.filter(template="withdrawal_acknowledged").update(status="sent")
    Withdrawal.objects.update(acknowledged=False)

    assert not acknowledge(Withdrawal.objects.get().pk)

    [mail] = mails("withdrawal_acknowledged")
    assert mail.status == "sent"
    assert Withdrawal.objects.get().acknowledged


def test_personal_data_of_a_case_can_be_exported_and_erased_once_it_is_resolved(client, order):
    confirm(client, order, details="Mi texto")
    assert export_all("ana@example.com")["desistimientos"][0]["indica"] == "Mi texto"
    with pytest.raises(CannotErase):
        preview_erasure("ana@example.com")
    Withdrawal.objects.update(status="declined")
    erase_all("ana@example.com")
    case = Withdrawal.objects.get()
    assert (case.name, case.email, case.email_identity, case.details) == ("", "", "", "")
    assert case.order_id == order.pk
    assert not Mail.objects.filter(template__startswith="withdrawal").exists()


@pytest.mark.dates
def test_cases_without_an_order_are_deleted_after_a_year(client, order):
    confirm(client, order)
    confirm(client, details="Una compra")
    assert _purge(timezone.now() + KEPT_WITHOUT_ORDER - timedelta(days=1)) == 0
    assert _purge(timezone.now() + KEPT_WITHOUT_ORDER + timedelta(days=1)) == 1
    assert Withdrawal.objects.get().order == order


@pytest.mark.dates
def test_pages_of_the_order_name_its_open_withdrawal(client, clerk, order):
    confirm(client, order)
    case = Withdrawal.objects.get()
    phrase = f"esistimiento por resolver, devolver hasta el {case.refund_by.day} de"
    pages = (admin_url(Order, "change", order.pk), f"/admin/devolver/{order.pk}")
    for page in pages:
        assert phrase in clerk.get(page).text
    assert admin_url(Withdrawal, "change", case.pk) in clerk.get(pages[0]).text

    Withdrawal.objects.update(status="declined")
    for page in pages:
        assert phrase not in clerk.get(page).text

"""The recovery link: the order that it opens, changes since then, and refused links."""

from datetime import timedelta
from urllib.parse import urlencode

import pytest
import time_machine
from django.apps import apps
from django.test import Client
from django.utils import timezone

from apps.catalogue.models import Lesson, Subject
from apps.core.mail.registry import NoLongerDue, render_mail
from apps.core.models import Mail, RateCount, SiteSettings
from apps.core.web.throttle import Limit
from apps.orders import api as orders_api
from apps.orders.ledger.payments import ConfirmedPayment
from apps.orders.models import Order, Payment
from apps.orders.recovery_link import recovery_url
from apps.orders.settlement.mark_paid import mark_paid
from apps.pricing.models import Campaign
from apps.students.models import Consent
from tests.helpers.factories import checkout_body, make_promo, make_subject, single, whole
from tests.helpers.student_session import sign_in_as

pytestmark = pytest.mark.django_db


@pytest.fixture
def saved(api):
    """A saved cart: Microeconomía (192 €) whole, and two lessons of Derecho (55 € each)."""
    micro, derecho = make_subject(), make_subject("Derecho", "240.00")
    answer = api.checkout(
        checkout_body(
            whole(micro), single(*derecho.lessons.all()), total="286.90", save_for_later=True
        )
    )
    return {"order": answer["order_id"], "token": answer["token"]}


def test_recovery_link_answers_with_the_order(api, saved):
    status, answer = api.get("orders/recover", **saved)

    assert status == 200
    order = Order.objects.get()
    micro, lesson = order.lines.all()[:2]
    assert {key: answer[key] for key in answer if key not in ("items", "created_at")} == {
        "id": order.pk,
        "total_amount": 286.9,
        "payment_type": "full_payment",
        "promo_code": None,
        "quote": None,
        "student": {
            "email": "bruno@example.com",
            "first_name": "",
            "last_name": "",
            "phone": "+34600222222",
        },
        "discounts": [{"name": "Pago completo (5 %)", "amount": 15.1}],
        "saved_total": 286.9,
        "totals": {"full_payment": 286.9, "installment": 302.0},
        "installment_minimum": 30,
        "changes": [],
        "bank": None,
        "renewal": False,
    }
    assert answer["items"][0] == {
        "id": micro.pk,
        "lesson_id": None,
        "subject_id": micro.subject_id,
        "price": 192.0,
        "lesson": None,
        "subject": {
            "id": micro.subject_id,
            "name": "Microeconomía",
            "degree": {
                "name": micro.degree_name,
                "university": {"name": "Universidad Abierta de Prueba"},
            },
        },
    }
    assert answer["items"][1]["lesson"] == {
        "id": lesson.lesson_id,
        "title": "PEC 1",
        "subject_id": lesson.subject_id,
    }


def test_recovered_order_shows_a_changed_price(api, saved):
    subject = Order.objects.get().lines.first().subject
    subject.final_price = "202.00"
    subject.save()

    _, answer = api.get("orders/recover", **saved)

    assert answer["saved_total"] == 286.9
    assert answer["total_amount"] == 296.4
    assert answer["changes"] == [
        {"kind": "price", "name": "Microeconomía", "before": 192.0, "after": 202.0},
        {"kind": "discount", "name": "Pago completo (5 %)", "before": 15.1, "after": 15.6},
    ]


def test_recovered_order_names_and_omits_expired_lessons(api, saved):
    Lesson.objects.filter(title="PEC 2", subject__name="Derecho").update(status="expired")

    _, answer = api.get("orders/recover", **saved)

    assert len(answer["items"]) == 2
    assert answer["changes"][0] == {"kind": "expired", "name": "Derecho: PEC 2"}


def test_recovered_order_names_and_omits_an_expired_code(api, sandbox):
    promo = make_promo()
    answer = api.checkout(
        checkout_body(
            whole(make_subject(price="200.00")),
            total="171.00",
            promo_code="BIENVENIDA10",
            save_for_later=True,
        )
    )
    promo.active = False
    promo.save()

    _, again = api.get("orders/recover", order=answer["order_id"], token=answer["token"])

    assert again["promo_code"] is None
    assert again["total_amount"] == 190.0
    assert again["changes"][0] == {
        "kind": "promo",
        "name": "BIENVENIDA10",
        "reason": "Este código ya no está activo.",
    }


def test_recovered_order_shows_a_campaign_that_began_since(api, saved):
    Campaign.objects.create(
        name="Otoño", percent=10, first_month=1, first_day=1, last_month=12, last_day=31,
        cart=True, prices_include_it=False,
    )  # fmt: skip

    _, answer = api.get("orders/recover", **saved)

    assert answer["changes"] == [
        {"kind": "discount", "name": "Descuento Otoño (10 %)", "before": 0, "after": 30.2}
    ]


def test_paying_a_recovered_order_requires_only_the_age_and_waiver_consents_again(
    api, saved, sandbox
):
    order = Order.objects.get()
    body = checkout_body(
        whole(order.lines.first().subject),
        single(*[line.lesson for line in order.lines.all()[1:]]),
        total="286.90",
        termsAccepted=False,
        privacyAccepted=False,
        recovery_order_id=saved["order"],
        token=saved["token"],
    )

    assert api.checkout(body)["order_id"] == order.pk
    status, answer = api.post("process-checkout", {**body, "adultConfirmed": False})
    assert (status, list(answer["fields"])) == (400, ["adultConfirmed"])


@pytest.mark.parametrize(
    ("query", "status", "sentence"),
    [
        ({}, 400, "Enlace de recuperación inválido"),
        ({"order": "1"}, 400, "Enlace de recuperación inválido"),
        ({"token": "x"}, 400, "Enlace de recuperación inválido"),
        ({"order": "x", "token": "x"}, 400, "ID de orden inválido"),
        ({"order": "1.0", "token": "x"}, 400, "ID de orden inválido"),
        ({"order": "-1", "token": "x"}, 400, "ID de orden inválido"),
        ({"order": "٣", "token": "x"}, 400, "ID de orden inválido"),
        ({"order": "9" * 30, "token": "x"}, 400, "ID de orden inválido"),
        ({"order": "999999", "token": "x"}, 404, "Orden no encontrada o enlace inválido"),
        ({"order": "999999", "token": "ñ"}, 404, "Orden no encontrada o enlace inválido"),
        ({"order": "999999", "token": "ñ\x00"}, 400, "Contiene un carácter nulo."),
    ],
)
def test_recovery_link_needs_order_and_token_and_an_integer_order_id(api, query, status, sentence):
    answered, answer = api.get("orders/recover", **query)

    assert (answered, answer["error"]) == (status, sentence)


def test_recovery_link_with_a_wrong_token_opens_nothing(api, saved):
    status, _ = api.get("orders/recover", order=saved["order"], token=saved["token"][:-1] + "x")

    assert status == 404


def test_recovery_link_names_expired_items_when_nothing_is_left(api, saved):
    Subject.objects.filter(name="Microeconomía").update(active=False)
    Lesson.objects.filter(subject__name="Derecho").update(status="expired")

    _, answer = api.get("orders/recover", **saved)

    assert (answer["items"], answer["total_amount"]) == ([], 0)
    gone = [change["name"] for change in answer["changes"] if change["kind"] == "expired"]
    assert gone == ["Microeconomía", "Derecho: PEC 1", "Derecho: PEC 2"]


def test_recovered_order_that_no_longer_allows_instalments_is_priced_as_one_payment(api, sandbox):
    micro, derecho = make_subject(), make_subject("Derecho", "240.00")
    (lesson, *_) = derecho.lessons.all()
    saved = api.checkout(
        checkout_body(
            whole(micro),
            single(lesson),
            total="247.00",
            payment_type="installment",
            save_for_later=True,
        )
    )
    micro.active = False
    micro.save()
    link = {"order": saved["order_id"], "token": saved["token"]}

    _, answer = api.get("orders/recover", **link)

    assert (answer["payment_type"], answer["total_amount"]) == ("full_payment", 52.25)
    assert answer["changes"] == [
        {"kind": "expired", "name": "Microeconomía"},
        {
            "kind": "instalments",
            "name": "Pago a plazos",
            "reason": "Para pagar a plazos hace falta al menos una asignatura completa.",
        },
        {"kind": "discount", "name": "Pago completo (5 %)", "before": 0, "after": 2.75},
    ]
    # The shop accepts the total that the page shows.
    body = checkout_body(
        single(lesson), total="52.25", recovery_order_id=link["order"], token=link["token"]
    )
    assert api.checkout(body)["amount"] == 52.25


def rows() -> dict[str, list[tuple[object, ...]]]:
    """Every row of every table of the shop, without the counts of rate limits."""
    return {
        model._meta.label: list(model._base_manager.order_by("pk").values_list())
        for model in apps.get_models()
        if model is not RateCount
    }


@pytest.mark.parametrize("state", ["saved", "changed", "paid"])
def test_reading_a_recovery_link_changes_nothing_but_the_history(api, saved, state):
    if state == "changed":
        Lesson.objects.filter(subject__name="Derecho").update(status="expired")
    if state == "paid":
        payment = ConfirmedPayment("pi_1", 28_690)
        mark_paid(order_id=saved["order"], payment=payment, actor="prueba")
    SiteSettings.current()  # The first reader creates the row.
    before = rows()
    assert len(before["orders.OrderLine"]) == 3

    api.client.get("/complete-payment", saved)
    api.client.head("/complete-payment", saved)
    api.client.get("/api/orders/recover", {**saved, "token": "x"})
    assert rows() == before

    for _ in range(2):
        api.client.get("/api/orders/recover", saved)

    after = rows()
    added = after.pop("orders.OrderEvent")[len(before.pop("orders.OrderEvent")) :]
    assert after == before
    opened = Order.objects.get().events.filter(kind="link_opened")
    assert len(added) == opened.count() == (state != "paid")


def test_recovery_link_of_a_paid_order_answers_already_paid(api, saved, sandbox):
    order = Order.objects.get()
    mark_paid(order_id=order.pk, payment=ConfirmedPayment("pi_1", 28_690), actor="prueba")

    status, answer = api.get("orders/recover", **saved)

    assert (status, answer) == (
        409,
        {
            "success": False,
            "error": "Este pedido ya está pagado.",
            "code": "already_paid",
            "fields": {},
        },
    )
    body = checkout_body(
        whole(order.lines.first().subject),
        total="182.40",
        recovery_order_id=saved["order"],
        token=saved["token"],
    )
    assert api.post("process-checkout", body)[0] == 409
    assert (Order.objects.count(), Payment.objects.count()) == (1, 1)


def test_mailed_link_does_not_open_a_cart_whose_preparer_has_put_another_address_on_it(
    api, saved, sandbox
):
    order = Order.objects.get()
    mail, link = Mail.objects.get(), recovery_url(order)
    assert link in render_mail(mail.template, mail.context, reveal=True).text
    assert 'data-island="recovery"' in api.client.get(link).text

    lookalike = "bruno@examp1e.com"
    lines = list(order.lines.all())
    api.checkout(
        checkout_body(
            whole(lines[0].subject),
            single(*[line.lesson for line in lines[1:]]),
            total="286.90",
            email=lookalike,
            save_for_later=True,
            recovery_order_id=order.pk,
            token=saved["token"],
        )
    )

    page = api.client.get(link)
    assert page.status_code == 410
    assert "Este carrito ha cambiado" in page.text
    assert not {lookalike, saved["token"]} & set(page.text.split('"'))
    assert 'data-island="recovery"' not in page.text
    # Nor does a page that was served before.
    answer = api.client.get(f"/api/orders/recover?{link.partition('?')[2]}")
    assert (answer.status_code, answer.json()["code"]) == (410, "cart_changed")
    assert lookalike not in answer.text
    # A mail that waited is not sent: its link would be to a cart of somebody else.
    with pytest.raises(NoLongerDue):
        render_mail(mail.template, mail.context, reveal=True, to=mail.to)
    # A link of an earlier version, and that of the other address's own mail.
    for other in (f"/complete-payment?{urlencode(saved)}", recovery_url(Order.objects.get())):
        assert api.client.get(other).status_code == 200


def test_preparer_of_a_cart_does_not_read_what_its_buyer_types_into_it(api, saved, sandbox):
    """Who saved it in the buyer's name, or passed the own link on, has its token."""
    order = Order.objects.get()
    buyer, stranger = Client(), Client(REMOTE_ADDR="192.0.2.9")
    link = f"/api/orders/recover?{recovery_url(order).partition('?')[2]}"
    token = f"/api/orders/recover?{urlencode(saved)}"
    assert buyer.get(link).json()["student"]["email"] == order.email
    assert stranger.get(token).json()["student"]["phone"] == order.phone

    body = checkout_body(
        whole(order.lines.first().subject),
        total="182.40",
        email="vera@example.org",
        phone="+34644555666",
        first_name="Vera",
        recovery_order_id=order.pk,
        token=saved["token"],
    )
    assert "client_secret" in api.checkout(body)

    empty = {"email": "", "first_name": "", "last_name": "", "phone": ""}
    assert stranger.get(token).json()["student"] == empty
    order.refresh_from_db()
    own = f"/api/orders/recover?{recovery_url(order).partition('?')[2]}"
    assert buyer.get(own).json()["student"]["first_name"] == "Vera"
    sign_in_as(order.student_id, buyer)
    assert buyer.get(token).json()["student"]["email"] == "vera@example.org"


def test_preparer_of_a_cart_does_not_read_the_code_that_its_buyer_types(api, saved, sandbox):
    """Whoever has read it could use it up before the buyer pays."""
    make_promo("VALE-EMPRESA-7H2K", value="50", max_uses=1)
    order = Order.objects.get()
    stranger = Client(REMOTE_ADDR="192.0.2.9")
    token = f"/api/orders/recover?{urlencode(saved)}"
    stranger.get(token)
    typed = {
        "email": "vera@example.org",
        "phone": "+34644555666",
        "promo_code": "VALE-EMPRESA-7H2K",
        "recovery_order_id": order.pk,
        "token": saved["token"],
    }
    item = whole(order.lines.first().subject)
    price = api.post("process-checkout", checkout_body(item, total="1.00", **typed))[1]
    assert api.checkout(checkout_body(item, total=price["total_amount"], **typed))

    read = stranger.get(token)
    assert read.status_code == 200
    assert "VALE-EMPRESA" not in read.text
    order.refresh_from_db()
    own = f"/api/orders/recover?{recovery_url(order).partition('?')[2]}"
    assert Client().get(own).json()["promo_code"] == "VALE-EMPRESA-7H2K"


def test_new_buyer_of_a_cart_accepts_all_anew(api, saved, sandbox):
    """The acceptances of its first address would be erased with that student."""
    order = Order.objects.get()
    before = order.student
    body = checkout_body(
        whole(order.lines.first().subject),
        total="182.40",
        email="vera@example.org",
        phone="+34644555666",
        recovery_order_id=order.pk,
        token=saved["token"],
    )
    status, answer = api.post("process-checkout", {**body, "termsAccepted": False})
    assert (status, list(answer["fields"])) == (400, ["termsAccepted"])

    api.checkout(body)
    order.refresh_from_db()
    assert order.student != before
    accepted = Consent.objects.filter(order_id=order.pk)
    assert {row.student for row in accepted} == {order.student}
    assert {row.kind for row in accepted} == {"terms", "privacy", "adult", "withdrawal"}


def test_new_buyer_who_saves_the_cart_first_declares_in_their_own_name(api, sandbox):
    """Age and waiver are not ticked with it: the former buyer's stood in the way later."""
    item = whole(make_subject())
    first = api.checkout(checkout_body(item, total="182.40", remindersAccepted=True))
    order = Order.objects.get()
    own = {"email": "vera@example.org", "recovery_order_id": order.pk, "token": first["token"]}
    later = {"save_for_later": True, "adultConfirmed": False, "withdrawalWaived": False}
    for declared in (later, {}):
        api.checkout(checkout_body(item, total="182.40", **own, **declared))

    accepted = Consent.objects.filter(order_id=order.pk)
    assert {row.student.email for row in accepted} == {"vera@example.org"}
    assert {row.kind for row in accepted} == {"terms", "privacy", "adult", "withdrawal"}


def test_recovery_link_expires_after_30_days(api, saved):
    with time_machine.travel(timezone.now() + timedelta(days=29)):
        assert api.get("orders/recover", **saved)[0] == 200
    with time_machine.travel(timezone.now() + timedelta(days=31)):
        assert api.get("orders/recover", **saved)[0] == 404


@pytest.mark.parametrize("token", [None, "x"])
def test_recovery_answer_is_not_cached_indexed_or_sent_as_referrer(api, saved, token):
    answer = api.client.get("/api/orders/recover", {**saved, "token": token or saved["token"]})

    assert answer.status_code == (404 if token else 200)
    assert answer["Cache-Control"] == "no-store"
    assert answer["Referrer-Policy"] == "no-referrer"
    assert answer["X-Robots-Tag"] == "noindex"


def prices(answer):
    status, body = answer
    assert status == 200, body
    return body["payment_type"], body["promo_code"], body["total_amount"], body["totals"]


def test_recovered_order_is_priced_with_the_buyer_s_changes_and_stays_as_it_was(api, saved):
    make_promo()
    before = list(Order.objects.values())
    _, answer = api.get("orders/recover", **saved)
    lessons = [item["id"] for item in answer["items"] if item["lesson_id"]]

    def recover(**wishes):
        return prices(api.get("orders/recover", **saved, **wishes))

    assert recover(payment_type="installment")[2] == 302
    # 10 % of what the other discounts leave.
    totals = {"full_payment": 258.21, "installment": 271.8}
    assert recover(promo_code="bienvenida10") == ("full_payment", "BIENVENIDA10", 258.21, totals)
    one_less = {"full_payment": 234.65, "installment": 247}
    assert recover(without=lessons[:1]) == ("full_payment", None, 234.65, one_less)
    changed = recover(without=lessons, promo_code="BIENVENIDA10", payment_type="installment")
    assert changed[:3] == ("installment", "BIENVENIDA10", 172.8)
    assert list(Order.objects.values()) == before


def test_instalments_that_a_smaller_order_does_not_allow_are_refused_with_the_reason(api, saved):
    _, answer = api.get("orders/recover", **saved)
    subject = answer["items"][0]["id"]

    _, answer = api.get("orders/recover", **saved, payment_type="installment", without=subject)

    assert (answer["payment_type"], answer["total_amount"]) == ("full_payment", 104.5)
    reason = "Para pagar a plazos hace falta al menos una asignatura completa."
    assert reason in [change.get("reason") for change in answer["changes"]]


def test_guessing_promo_codes_with_a_recovery_link_is_limited(api, saved):
    answers = [api.get("orders/recover", **saved, promo_code=f"NO{n}") for n in range(21)]

    assert [status for status, _ in answers] == [200] * 20 + [429]
    assert answers[0][1]["promo_code"] is None
    assert answers[0][1]["changes"][0]["reason"] == "Este código no existe."

    make_promo()
    status, _ = api.get("orders/recover", **saved, promo_code="BIENVENIDA10")
    assert status == 429, "above the limit, no answer tells a right code from a wrong one"


def test_a_right_code_of_a_recovery_link_uses_no_try_up(api, saved):
    make_promo()

    # On a busy machine the requests would reach into the limit's next ten minutes.
    with time_machine.travel(timezone.now(), tick=False):
        answers = [
            api.get("orders/recover", **saved, promo_code=code)[0]
            for code in ["BIENVENIDA10"] * 21 + ["NO"] * 20 + ["BIENVENIDA10"]
        ]

    assert answers == [200] * 41 + [429]


@pytest.mark.parametrize(
    "wish", [{"payment_type": "bizum"}, {"without": "x"}, {"promo_code": "C" * 41}]
)
def test_recovery_with_a_malformed_wish_is_refused_in_spanish(api, saved, wish):
    status, answer = api.get("orders/recover", **saved, **wish)

    assert (status, answer["code"]) == (400, "invalid")
    assert list(answer["fields"]) == [next(iter(wish))] or "without.0" in answer["fields"]


def test_openings_of_a_visitor_are_counted(api, saved, monkeypatch):
    """A cart of 200 lines takes 40 ms each time."""
    monkeypatch.setattr(orders_api, "RECOVERIES", Limit("test", times=2, seconds=600))

    answers = [api.get("orders/recover", **saved)[0] for _ in range(3)]

    assert answers == [200, 200, 429]


def test_number_of_a_parameter_that_python_cannot_read_is_no_error(api, saved):
    """DRF reads `without[3]` as a list, and Python no number of more than 4,300 digits."""
    status, _ = api.get("orders/recover", **saved, **{f"without[{'9' * 4_400}]": "1"})
    assert status == 200

from datetime import timedelta
from decimal import Decimal
from itertools import count

import pytest
from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from academy.tests.factories import make_subject
from apps.catalogue.models import Lesson, PriceChange, Subject, University
from apps.classroom.models import (
    AccessChange,
    Account,
    Enrolment,
    MoodleCourse,
    Provisioning,
    Semester,
)
from apps.classroom.services import provision
from apps.core.models import LegalText, Mail, ScheduledJob, SiteSettings
from apps.leads.models import Lead, Quote, SubjectRequest, WantedSubject
from apps.orders.jobs import tell_missing_access
from apps.orders.models import (
    Dispute,
    Instalment,
    InstalmentAttempt,
    Order,
    OrderDiscount,
    OrderEvent,
    OrderLine,
    Payment,
    Redemption,
    ReferralReward,
    Refund,
)
from apps.pages import models as pages
from apps.payments.models import ProviderEvent
from apps.pricing.models import Campaign, PromoCode
from apps.students.models import Consent, ErasureRequest, SignIn, Student

pytestmark = pytest.mark.django_db

OUR_MODELS = sorted(
    (model for model in admin.site._registry if model.__module__.startswith("apps.")),
    key=lambda model: model._meta.label,
)
ASKED_FOR = {
    "University Degree Subject Lesson PriceChange Student Consent LegalText Order OrderLine",
    "OrderEvent Instalment Payment ProviderEvent Enrolment PromoCode Redemption Campaign",
    "Mail SiteSettings Provisioning Account",
    "Plan Faq Testimonial TeamMember Institution Redirect",
    "Lead Quote WantedSubject ReferralReward Refund Dispute",
}
WRITTEN_BY_THE_SHOP = {
    Order, OrderLine, OrderEvent, Instalment, Payment, Redemption, ProviderEvent, Consent,
    PriceChange, Mail, ScheduledJob, Provisioning, AccessChange, Enrolment, Account, Quote,
    WantedSubject, SignIn, ErasureRequest, ReferralReward, Refund, Dispute,
}  # fmt: skip
User = get_user_model()
_numbers = count(1)


@pytest.fixture
def carla(client):
    user = get_user_model().objects.create_superuser("carla", password="clave-de-carla")
    client.force_login(user)
    return user


def make_one_of_everything():
    """One more row in every table that staff can see; returns the order that most belong to."""
    n = next(_numbers)
    subject = make_subject(f"Asignatura {n}", lessons=2, total_discounts=10)
    lesson = subject.lessons.first()
    student = Student.objects.create(email=f"alumna{n}@example.com", phone="+34600111111")
    promo = PromoCode.objects.create(
        code=f"CODIGO{n}", kind="FIJO", value=5, student=student, is_referral_code=True
    )
    promo.subjects.add(subject)
    Campaign.objects.create(
        name=f"Campaña {n}", percent=20, first_month=8, first_day=1, last_month=8, last_day=31,
        cart=True,
    )  # fmt: skip
    order = Order.objects.create(
        student=student, email=student.email, phone=student.phone, total_amount=Decimal("187.00"),
        payment_type="installment", promo_code=promo, status=Order.Status.PAYING,
        stripe_payment_intent_id=f"pi_{n:08}", paid_at=timezone.now(),
    )  # fmt: skip
    add_rows_to(order, subject=subject, lesson=lesson)
    Redemption.objects.create(promo_code=promo, order=order, student=student, status="used")
    friend = Student.objects.create(email=f"amiga{n}@example.com")
    ReferralReward.objects.create(
        student=student, friend=friend, order=order, promo_code=promo, amount=20,
        held_until=timezone.now(),
    )  # fmt: skip
    payment = Payment.objects.create(
        order=order, reference=f"pi_{n:08}", amount=Decimal("63.00"), status="succeeded",
        succeeded_at=timezone.now(),
    )  # fmt: skip
    payment.instalments.set(order.instalments.all())
    refund = Refund.objects.create(
        payment=payment, batch=f"{n}", amount=Decimal("1.00"), reason="Error", actor="carla",
        status="succeeded", reference=f"re_{n}",
    )  # fmt: skip
    refund.lines.set(order.lines.all())
    Dispute.objects.create(payment=payment, reference=f"du_{n}", amount=1, status="won")
    InstalmentAttempt.objects.create(
        instalment=order.instalments.first(), number=1, kind="by_hand", amount=Decimal("63.00")
    )
    text = LegalText.objects.get_or_create(
        kind="terminos", version=10 + n,
        defaults={"title": "Términos", "body": "<p>Texto</p>", "published_on": "2025-07-10"},
    )[0]  # fmt: skip
    Consent.objects.create(
        student=student, kind="terms", legal_text=text, wording="Acepto", source=order.reference
    )
    Account.objects.create(student=student)
    Provisioning.objects.create(reference=order.reference, student=student, status="created")
    MoodleCourse.objects.create(subject=subject, shortname=f"C{n}", course_id=n, full_name="Curso")
    SignIn.objects.create(student=student)
    ErasureRequest.objects.create(student=student)
    AccessChange.objects.create(student=student, reference=order.reference, reason="Pausa")
    Semester.objects.get_or_create(name="Primer semestre", last_month=2, last_day=28)
    Enrolment.objects.create(student=student, subject=subject, reference=order.reference)
    Enrolment.objects.create(
        student=student, subject=subject, lesson=lesson, reference=order.reference
    )
    Mail.objects.create(
        key=f"order-confirmation:{order.pk}", template="order_confirmation", to=order.email,
        context={"order_id": order.pk}, message_id=f"<{n}@academia.example>",
    )  # fmt: skip
    ProviderEvent.objects.create(
        event_id=f"evt_{n}", kind="payment_intent.succeeded",
        payload={"data": {"object": {"id": "pi_1", "client_secret": "pi_1_secret_zzz"}}},
    )  # fmt: skip
    ScheduledJob.objects.get_or_create(name="send_due_mails", defaults={"due_at": timezone.now()})
    make_leads(n, subject=subject)
    SiteSettings.current()
    pages.Testimonial.objects.create(name="Marta R.", degree="Psicología", text="Muy bien.")
    pages.TeamMember.objects.create(name="Lucía Martín", degree="ADE", is_sample=True)
    pages.Institution.objects.create(name="Banco del Norte")
    pages.Redirect.objects.create(old_path=f"/tarifas-{n}", target="/precios")
    return order


def make_leads(n, *, subject):
    email = f"visitante{n}@example.com"
    quoted = Lead.objects.create(kind="quote", email=email, assigned_to=User.objects.first())
    Quote.objects.create(
        lead=quoted, payment_type="full_payment", date_range="other", base_price=192,
        final_price=192, binding_price=192, valid_until=timezone.now(),
    )  # fmt: skip
    wanted = WantedSubject.objects.create(
        name=f"Falta {n}", career="Economía", university="Otra", key=f"{n}", subject=subject
    )
    missed = Lead.objects.create(kind="missing_subject", email=email)
    SubjectRequest.objects.create(
        lead=missed, wanted=wanted, university="Otra", subject_name=wanted.name
    )


def add_rows_to(order, *, subject, lesson):
    for line in (None, lesson):
        OrderLine.objects.create(
            order=order, subject=subject, lesson=line, name=subject.name,
            subject_name=subject.name, degree_name="Economía", university_name="Universidad",
            list_price=192, price=192,
        )  # fmt: skip
    OrderDiscount.objects.create(order=order, name="Descuento por volumen", amount=15)
    OrderEvent.objects.create(order=order, actor="comprador", reason="Pedido creado")
    number = order.instalments.count() + 1
    Instalment.objects.create(order=order, number=number, amount=63, due_on="2026-11-21")


def url(model, page, *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def queries(client, address):
    with CaptureQueriesContext(connection) as captured:
        response = client.get(address, follow=True)
    assert response.status_code == 200, address
    return len(captured)


def test_every_model_that_was_asked_for_is_there():
    names = {model.__name__ for model in OUR_MODELS}
    assert {name for group in ASKED_FOR for name in group.split()} <= names


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("model", OUR_MODELS, ids=lambda model: model.__name__)
def test_a_list_takes_as_many_queries_for_many_rows_as_for_one(client, model):
    make_one_of_everything()
    client.get(url(model, "changelist"), follow=True)  # warms what Django caches per process
    few = queries(client, url(model, "changelist"))
    for _ in range(4):
        make_one_of_everything()

    assert queries(client, url(model, "changelist")) == few


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("model", OUR_MODELS, ids=lambda model: model.__name__)
def test_every_list_can_be_searched_and_every_row_opened(client, model):
    make_one_of_everything()
    if model is not SiteSettings:
        assert admin.site._registry[model].search_fields
        assert client.get(url(model, "changelist"), {"q": "Asig 1 ñ"}).status_code == 200
    row = model._default_manager.order_by("pk").last()

    assert client.get(url(model, "change", row.pk)).status_code == 200


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("model", OUR_MODELS, ids=lambda model: model.__name__)
def test_only_what_staff_may_write_can_be_added_or_deleted(client, model):
    make_one_of_everything()
    row = model._default_manager.order_by("pk").last()
    added = client.get(url(model, "add")).status_code
    deleted = client.get(url(model, "delete", row.pk)).status_code

    if model in WRITTEN_BY_THE_SHOP or model is SiteSettings:
        assert (added, deleted) == (403, 403)
    elif model is Lead:
        assert (added, deleted) == (403, 200)
    else:
        assert added == 200
        assert deleted == (403 if model in (LegalText, Student) else 200)


@pytest.mark.usefixtures("carla")
def test_an_order_s_page_takes_as_many_queries_for_many_rows_as_for_one(client):
    order = make_one_of_everything()
    address = url(Order, "change", order.pk)
    client.get(address)
    few = queries(client, address)
    for _ in range(3):
        subject = make_subject()
        add_rows_to(order, subject=subject, lesson=subject.lessons.first())

    assert queries(client, address) == few


@pytest.mark.usefixtures("carla")
def test_an_order_shows_its_story_and_offers_nothing_to_type(client):
    order = make_one_of_everything()
    page = client.get(url(Order, "change", order.pk)).content.decode()

    for part in ("187,00", "Descuento por volumen", "Pedido creado", f"pi_{order.pk:08}"[:3]):
        assert part in page
    assert 'name="total_amount"' not in page
    assert 'name="status"' not in page
    assert order.auth_token not in page

    refused = client.post(url(Order, "change", order.pk), {"total_amount": "1.00"})
    assert refused.status_code == 403
    order.refresh_from_db()
    assert order.total_amount == Decimal("187.00")


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(
    "wording", ["pedido-{order.pk}", "{order.pk}", "Pedido {order.pk}", "{reference}"]
)
def test_an_order_is_found_as_people_name_it(client, wording):
    order = make_one_of_everything()
    other = make_one_of_everything()
    term = wording.format(order=order, reference=f"ORD-{order.stripe_payment_intent_id[-8:]}")

    results = client.get(url(Order, "changelist"), {"q": term}).context["cl"].queryset

    assert order in results
    assert other not in results


@pytest.mark.usefixtures("carla")
def test_a_warning_is_put_aside_with_a_note_of_who_did_it(client):
    order = make_one_of_everything()
    Order.objects.update(flag="Importe inesperado")
    client.post(url(Order, "changelist"), {"action": "attended", "_selected_action": [order.pk]})

    order.refresh_from_db()
    assert order.flag == ""
    event = order.events.latest("pk")
    assert (event.actor, event.reason) == ("carla", "Atendido: Importe inesperado")


# ---------------------------------------------------------------- catalogue


def subject_form(subject, **changes):
    lessons = list(subject.lessons.all())
    form = {
        "degree": subject.degree_id,
        "name": subject.name,
        "final_price": subject.final_price,
        "total_discounts": subject.total_discounts,
        "active": "on",
        "enrolled_offset": "0",
        "lessons-TOTAL_FORMS": len(lessons),
        "lessons-INITIAL_FORMS": len(lessons),
        "price_changes-TOTAL_FORMS": 0,
        "price_changes-INITIAL_FORMS": 0,
    }
    for index, lesson in enumerate(lessons):
        form |= {
            f"lessons-{index}-id": lesson.pk,
            f"lessons-{index}-subject": subject.pk,
            f"lessons-{index}-title": lesson.title,
            f"lessons-{index}-price": lesson.price,
            f"lessons-{index}-status": lesson.status,
            f"lessons-{index}-position": lesson.position,
        }
    return form | changes


def test_prices_changed_in_the_admin_are_kept_with_the_clerk_s_name(client, carla):
    subject = make_subject(lessons=2)
    form = subject_form(subject, final_price="205.00", **{"lessons-1-price": "61.00"})

    assert client.post(url(Subject, "change", subject.pk), form).status_code == 302

    changes = PriceChange.objects.filter(before__isnull=False).order_by("pk")
    assert [(c.before, c.after, c.changed_by) for c in changes] == [
        (Decimal("192.00"), Decimal("205.00"), carla),
        (Decimal("55.00"), Decimal("61.00"), carla),
    ]


@pytest.mark.usefixtures("carla")
def test_a_lesson_deleted_in_the_admin_is_counted_no_more(client):
    subject = make_subject(lessons=2)
    form = subject_form(subject, **{"lessons-1-DELETE": "on"})

    assert client.post(url(Subject, "change", subject.pk), form).status_code == 302

    subject.refresh_from_db()
    assert (subject.lessons.count(), subject.active_lessons_count) == (1, 1)


@pytest.mark.usefixtures("carla")
def test_a_subject_that_was_never_sold_can_be_deleted_with_its_price_history(client):
    subject = make_subject(lessons=0)
    client.post(url(Subject, "delete", subject.pk), {"post": "yes"})

    assert not Subject.objects.exists()
    assert not PriceChange.objects.exists()


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize("term", ["etica", "ÉTICA", "ética profesional"])
def test_names_are_found_whatever_their_accents(client, term):
    wanted = make_subject("Ética profesional")
    make_subject("Lógica")

    results = client.get(url(Subject, "changelist"), {"q": term}).context["cl"].queryset
    offered = client.get(
        reverse("admin:autocomplete"),
        {"app_label": "pricing", "model_name": "promocode", "field_name": "subjects", "term": term},
    ).json()

    assert list(results) == [wanted]
    assert [result["id"] for result in offered["results"]] == [str(wanted.pk)]


@pytest.mark.usefixtures("carla")
def test_lessons_expire_together_and_the_counts_follow(client):
    subject = make_subject(lessons=3)
    first, second, _ = subject.lessons.all()
    client.post(
        url(Lesson, "changelist"),
        {"action": "expire", "_selected_action": [first.pk, second.pk]},
    )

    subject.refresh_from_db()
    assert subject.active_lessons_count == 1
    client.post(
        url(Subject, "changelist"),
        {"action": "take_off_sale", "_selected_action": [subject.pk]},
    )
    subject.degree.refresh_from_db()
    assert subject.degree.subjects_count == 0


@pytest.mark.usefixtures("carla")
def test_samples_are_marked(client):
    University.objects.create(name="Inventada", acronym="INV", is_sample=True)

    assert "Ejemplo" in client.get(url(University, "changelist")).content.decode()


# ---------------------------------------------------------------- codes and campaigns


@pytest.mark.usefixtures("carla")
def test_a_code_is_stored_upper_case(client):
    form = {
        "code": " verano15 ", "kind": "PORCENTAJE", "value": "15", "active": "on",
        "minimum_cart": "0", "note": "",
    }  # fmt: skip
    assert client.post(url(PromoCode, "add"), form).status_code == 302
    assert PromoCode.objects.get().code == "VERANO15"


@pytest.mark.usefixtures("carla")
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"value": "101"}, "Un porcentaje no puede pasar de 100."),
        ({"value": "0"}, "mayor o igual"),
        ({"is_referral_code": "on"}, "Un código de amigo necesita su alumno."),
    ],
)
def test_an_impossible_code_is_refused_in_words(client, changes, sentence):
    form = {"code": "X", "kind": "PORCENTAJE", "value": "15", "minimum_cart": "0"} | changes
    page = client.post(url(PromoCode, "add"), form)

    assert page.status_code == 200
    assert sentence in page.content.decode()
    assert not PromoCode.objects.exists()


CAMPAIGN = {
    "name": "Agosto", "percent": "20", "first_day": "1", "first_month": "8", "last_day": "31",
    "last_month": "8", "active": "on", "cart": "on", "prices_include_it": "on",
}  # fmt: skip


@pytest.mark.usefixtures("carla")
def test_a_campaign_whose_list_prices_were_never_charged_is_warned_about(client):
    make_subject(price="192.00", lessons=1)
    page = client.post(url(Campaign, "add"), CAMPAIGN, follow=True).content.decode()

    assert "2 precios de lista (precio ÷ 0,8)" in page


@pytest.mark.usefixtures("carla")
def test_a_campaign_whose_list_prices_were_charged_is_not_warned_about(client):
    subject = make_subject(price="240.00", lessons=1)
    lesson = subject.lessons.get()
    lesson.price = Decimal("44.00")
    lesson.save()
    subject.final_price = Decimal("192.00")
    subject.save()

    page = client.post(url(Campaign, "add"), CAMPAIGN, follow=True).content.decode()

    assert "precios de lista (precio" not in page


@pytest.mark.usefixtures("carla")
def test_a_list_price_of_long_ago_does_not_count(client):
    subject = make_subject(price="240.00", lessons=1)
    lesson = subject.lessons.get()
    for row, price in ((subject, "192.00"), (lesson, "44.00")):
        setattr(row, row.price_field, Decimal(price))
        row.save()
    PriceChange.objects.update(changed_at=timezone.now() - timedelta(days=31))

    page = client.post(url(Campaign, "add"), CAMPAIGN, follow=True).content.decode()

    assert "2 precios de lista (precio ÷ 0,8)" in page


# ---------------------------------------------------------------- texts and mails


@pytest.mark.usefixtures("carla")
def test_a_legal_text_gets_a_new_version_and_the_old_one_stays(client):
    old = LegalText.objects.current("terminos")
    form = client.get(url(LegalText, "add"), {"kind": "terminos"}).context["adminform"].form
    assert form.initial["body"] == old.body

    client.post(
        url(LegalText, "add"),
        {"kind": "terminos", "title": "Términos", "published_on": "01/12/2026", "body": "<p>2</p>"},
    )

    new = LegalText.objects.current("terminos")
    assert (new.version, new.body) == (old.version + 1, "<p>2</p>")
    assert client.post(url(LegalText, "change", old.pk), {"body": "x"}).status_code == 403
    assert LegalText.objects.get(pk=old.pk).body == old.body


@pytest.mark.usefixtures("carla")
def test_a_mail_is_read_in_a_frame_that_runs_nothing(client):
    make_one_of_everything()
    mail = Mail.objects.get()
    page = client.get(url(Mail, "change", mail.pk))
    frame = client.get(reverse("admin:core_mail_html", args=[mail.pk]))

    assert f'sandbox="allow-popups" src="/admin/core/mail/{mail.pk}/html/"' in page.content.decode()
    frames = page.headers["Content-Security-Policy"].split("frame-src ")[1].split(";")[0]
    assert "'self'" in frames.split()
    assert frame.status_code == 200
    policy = frame.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "sandbox allow-popups" in policy
    assert "script-src" not in policy
    assert frame.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert "<html" in frame.content.decode()


def test_a_mail_is_for_staff_alone(client):
    make_one_of_everything()
    response = client.get(reverse("admin:core_mail_html", args=[Mail.objects.get().pk]))

    assert response.status_code == 302
    assert response["Location"].startswith("/admin/login/")


@pytest.mark.usefixtures("carla")
def test_a_failed_mail_is_tried_again(client):
    make_one_of_everything()
    Mail.objects.update(status="failed", attempts=9)
    mail = Mail.objects.get()
    client.post(url(Mail, "changelist"), {"action": "send_again", "_selected_action": [mail.pk]})

    mail.refresh_from_db()
    assert (mail.status, mail.attempts) == ("queued", 0)


@pytest.mark.usefixtures("carla")
def test_an_event_s_secrets_are_not_shown(client):
    make_one_of_everything()
    page = client.get(url(ProviderEvent, "change", ProviderEvent.objects.get().pk))

    assert "pi_1_secret_zzz" not in page.content.decode()
    assert "(oculto)" in page.content.decode()


# ---------------------------------------------------------------- the first page


def figures(client):
    page = client.get(reverse("admin:index"))
    return {tile.label: tile.figure for tile in page.context["tiles"]}, page.context["tiles"]


@pytest.mark.usefixtures("carla")
def test_the_first_page_says_what_waits_for_somebody(client):
    order = make_one_of_everything()
    Order.objects.update(flag="Importe inesperado")
    Mail.objects.update(status="failed")
    ScheduledJob.objects.update(failures=1)
    Provisioning.objects.update(status="failed")
    ReferralReward.objects.update(status="owed", owed_at=timezone.now())

    shown, tiles = figures(client)

    assert shown == {
        "Pedidos pagados hoy": "1",
        "Cobrado hoy": "63,00\N{NO-BREAK SPACE}€",
        "Pedidos con aviso": "1",
        "Pagos con aviso": "0",
        "Pagados sin acceso": "1",
        "Correos fallidos": "1",
        "Peticiones de borrado": "1",
        "Recompensas por pagar": "1",
        "Tareas con fallo": "1",
    }
    assert [tile.label for tile in tiles if tile.is_bad] == [
        "Pedidos con aviso",
        "Pagados sin acceso",
        "Correos fallidos",
        "Peticiones de borrado",
        "Recompensas por pagar",
        "Tareas con fallo",
    ]
    behind = {tile.label: client.get(tile.url).context["cl"].queryset for tile in tiles}
    assert list(behind["Pagados sin acceso"]) == [order]
    assert list(behind["Pedidos con aviso"]) == [order]
    assert list(behind["Pedidos pagados hoy"]) == [order]
    assert behind["Correos fallidos"].count() == 1
    assert behind["Cobrado hoy"].count() == 1
    assert behind["Recompensas por pagar"].get().order == order


@pytest.mark.usefixtures("carla")
def test_an_order_with_its_access_does_not_wait_for_anybody(client):
    make_one_of_everything()

    assert figures(client)[0]["Pagados sin acceso"] == "0"


@pytest.mark.usefixtures("carla")
def test_a_paid_order_without_access_stands_first_with_reason_and_a_button(client):
    order = make_one_of_everything()
    Provisioning.objects.update(
        status="pending", last_error="MoodleError: away", due_at=timezone.now() + timedelta(hours=1)
    )
    page = client.get(reverse("admin:index")).content.decode()
    assert "MoodleError: away" in page
    button = reverse("admin:retry_access", args=[order.pk])
    assert f'action="{button}"' in page
    assert client.get(button).status_code == 403

    client.post(button)
    provision.func(reference=order.reference)
    assert Provisioning.objects.get().status == "created"
    assert "Pagados sin acceso al aula" not in client.get(reverse("admin:index")).content.decode()


def test_staff_without_the_right_can_not_try_again(client):
    order = make_one_of_everything()
    Provisioning.objects.update(status="failed")
    client.force_login(User.objects.create_user("eva", is_staff=True))
    assert client.post(reverse("admin:retry_access", args=[order.pk])).status_code == 403
    assert Provisioning.objects.get().status == "failed"


def test_staff_hear_of_a_missing_access_after_a_quarter_of_an_hour_once():
    order = make_one_of_everything()
    Mail.objects.all().delete()
    Provisioning.objects.update(status="pending", last_error="MoodleError: away")
    assert tell_missing_access() == ""
    Order.objects.update(paid_at=timezone.now() - timedelta(minutes=15, seconds=1))
    assert tell_missing_access() == "Avisos de pagos sin acceso: 1"
    assert tell_missing_access() == ""
    mail = Mail.objects.get()
    assert mail.context == {
        "order_id": order.pk,
        "reason": "Pagado y todavía sin acceso al aula: MoodleError: away",
    }


@pytest.mark.usefixtures("carla")
def test_every_link_from_one_row_to_related_lists_works(client):
    order = make_one_of_everything()
    make_one_of_everything()
    for row in (order, order.student, order.promo_code, order.lines.first().subject.degree):
        page = client.get(url(type(row), "change", row.pk)).content.decode()
        hrefs = [
            part.split('"')[0].replace("&amp;", "&")
            for part in page.split('<a href="')[1:]
            if "/?" in part.split('"')[0] and "_popup" not in part.split('"')[0]
        ]
        hrefs = [
            href
            for href in hrefs
            if href.startswith("/admin/") and "changelist_filters" not in href
        ]
        assert hrefs
        for href in hrefs:
            answer = client.get(href)
            assert answer.status_code == 200, href
            # An unknown filter would redirect, an ignored one would show both rows.
            assert answer.context["cl"].queryset.count() < 4, href

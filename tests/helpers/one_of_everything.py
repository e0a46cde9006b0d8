"""Creates a row in every table, for tests of the admin and of personal data."""

from decimal import Decimal
from itertools import count
from uuid import uuid4

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group
from django.utils import timezone

from apps.catalogue.models import PriceBatch, University
from apps.classroom.models import (
    AccessChange,
    Account,
    Enrolment,
    MoodleCourse,
    Progress,
    Provisioning,
    Semester,
)
from apps.core.models import (
    DeletedRow,
    Incident,
    LegalText,
    Mail,
    ScheduledJob,
    SiteSettings,
    StaffAction,
    StaffLimit,
)
from apps.invoices.models import BillingDetails, Invoice, PendingInvoice, TaxRecord
from apps.leads.models import (
    AnswerTemplate,
    Lead,
    Quote,
    RequestedSubject,
    StaffDegree,
    SubjectRequest,
    UniversityNotice,
    Withdrawal,
)
from apps.orders.models import (
    Dispute,
    Gift,
    Instalment,
    InstalmentAttempt,
    Order,
    OrderDiscount,
    OrderEvent,
    OrderLine,
    OrderNote,
    Payment,
    PromoUse,
    ReferralReward,
    Refund,
    StaffOrder,
    TransferReceipt,
)
from apps.pages import models as pages
from apps.payments.models import AuditDifference, ProviderEvent
from apps.pricing.models import Campaign, PromoBatch, PromoCode, Terms
from apps.students.models import Consent, ErasureRequest, FormerEmail, SignIn, Student
from tests.helpers.factories import make_subject

User = get_user_model()
_numbers = count(1)


def make_one_of_everything():
    """Add a row to every table of the admin. Return the order that most rows belong to."""
    n = next(_numbers)
    subject = make_subject(f"Asignatura {n}", lessons=2, total_discounts=10)
    lesson = subject.lessons.first()
    PriceBatch.objects.create(summary="Subir un 10 %", prices_count=1, applied_at=timezone.now())
    student = Student.objects.create(email=f"alumna{n}@example.com", phone="+34600111111")
    promo = PromoCode.objects.create(
        code=f"CODIGO{n}", kind="FIJO", value=5, student=student, is_referral_code=True
    )
    promo.subjects.add(subject)
    PromoBatch.objects.create(name=f"Tanda {n}", pattern="FERIA-######")
    Terms.objects.create(changed_by="carla")
    # It has ended: the prices of a test depend on no campaign that happens to run.
    Campaign.objects.create(
        name=f"Campaña {n}", percent=20, first_on="2025-08-01", last_on="2025-08-31", cart=True,
    )  # fmt: skip
    order = Order.objects.create(
        student=student, email=student.email, phone=student.phone, total_amount=Decimal("187.00"),
        payment_type="installment", promo_code=promo, status=Order.Status.PAYING,
        paid_at=timezone.now(),
    )  # fmt: skip
    add_rows_to(order, subject=subject, lesson=lesson)
    StaffOrder.objects.create(order=order, paid_by="transfer", actor="carla")
    TransferReceipt.objects.create(
        order=order, amount=1, received_on="2026-11-21", proof=f"MOV-{order.pk}", actor="carla",
        form_key=uuid4(),
    )  # fmt: skip
    Gift.objects.create(
        order=order, sender="Ana", recipient_email=f"leo{n}@example.com",
        deliver_on=timezone.localdate(), status="delivered",
    )  # fmt: skip
    OrderNote.objects.create(
        order=order, text="Llamar", actor="carla", due_on="2026-11-21", form_key=uuid4()
    )
    PromoUse.objects.create(promo_code=promo, order=order, student=student, status="used")
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
    add_invoice_to(order, n)
    InstalmentAttempt.objects.create(
        instalment=order.instalments.first(), number=1, kind="by_hand", amount=Decimal("63.00")
    )
    text = LegalText.objects.get_or_create(
        kind="terminos", version=10 + n,
        defaults={"title": "Términos", "body": "<p>Texto</p>", "published_on": "2025-07-10"},
    )[0]  # fmt: skip
    Consent.objects.create(
        student=student, kind="terms", legal_text=text, wording="Acepto", order_id=order.pk
    )
    Account.objects.create(
        student=student, external_id=str(student.pk), address=student.email, made_by_shop=True
    )
    FormerEmail.objects.create(student=student, email=f"antes{n}@example.com")
    Provisioning.objects.create(
        order_id=order.pk, student=student, status="created", items=[[subject.pk, None]]
    )
    MoodleCourse.objects.create(subject=subject, shortname=f"C{n}", course_id=n, full_name="Curso")
    SignIn.objects.create(student=student)
    ErasureRequest.objects.create(student=student)
    AccessChange.objects.create(student=student, order_id=order.pk, reason="Pausa")
    Semester.objects.get_or_create(name="Primer semestre", last_month=2, last_day=28)
    Enrolment.objects.create(student=student, subject=subject, provisioning_id=order.pk)
    Enrolment.objects.create(
        student=student, subject=subject, lesson=lesson, provisioning_id=order.pk
    )
    Progress.objects.create(
        student=student, subject=subject, done=3, total=5, measured_at=timezone.now()
    )
    Mail.objects.create(
        key=f"order-confirmation:{order.pk}", template="order_confirmation", to=order.email,
        context={"order_id": order.pk}, message_id=f"<{n}@academia.example>",
    )  # fmt: skip
    ProviderEvent.objects.create(
        event_id=f"evt_{n}", kind="payment_intent.succeeded",
        payload={"data": {"object": {"id": "pi_1", "client_secret": "pi_1_secret_zzz"}}},
    )  # fmt: skip
    AuditDifference.objects.create(text=f"Pedido {order.pk}: no cuadra.")
    StaffAction.objects.create(actor_name="carla", kind="read", object_repr="Pedido")
    DeletedRow.objects.create(
        about="pages.faq", object_id="1", object_repr="¿Cuánto dura?", data=[], deleted_by="carla"
    )
    Incident.objects.get_or_create(name="webhook-no-json")
    teacher, _ = get_user_model().objects.get_or_create(username="teo")
    StaffDegree.objects.create(user=teacher, degree=subject.degree)
    StaffLimit.objects.get_or_create(group=Group.objects.get_or_create(name="Verano")[0])
    ScheduledJob.objects.get_or_create(name="send_due_mails", defaults={"due_at": timezone.now()})
    make_leads(n, subject=subject)
    Withdrawal.objects.create(
        name="Ana", email=order.email, email_identity=order.email, contract_key=f"{order.pk}",
        order_number=f"{order.pk}", order=order, status="declined",
    )  # fmt: skip
    UniversityNotice.objects.create(
        university=University.objects.get(pk=subject.university_id),
        email=f"avisa{n}@example.com", email_identity=f"avisa{n}@example.com",
    )  # fmt: skip
    SiteSettings.current()
    pages.Testimonial.objects.create(name="Marta R.", degree="Psicología", text="Muy bien.")
    pages.TeamMember.objects.create(name="Lucía Martín", degree="ADE", is_sample=True)
    pages.LessonSample.objects.create(
        lesson=lesson, first_page="Enunciado", test="\n\n".join(["¿Uno?\n+ Sí\n- No"] * 3)
    )
    pages.Institution.objects.create(name="Banco del Norte")
    pages.Opinion.objects.create(
        student=student, subject=subject, status="waiting", rating=5, text="Muy claro todo.",
        shown_name="Ana", answered_at=timezone.now(),
    )  # fmt: skip
    pages.Redirect.objects.create(old_path=f"/tarifas-{n}", target="/precios")
    return order


def add_invoice_to(order, n):
    details = BillingDetails.objects.create(
        order=order, name=f"Alumna {n}", tax_id="12345678Z", address="Calle Mayor 1",
        postal_code="28013", city="Madrid",
    )  # fmt: skip
    invoice = Invoice.objects.create(
        code=f"F2026-{n:05}", series="F", year=2026, number=n, kind="F1",
        issued_on=timezone.localdate(),
        order=order, recipient=details.as_recipient(), recipient_tax_id=details.tax_id,
        total=Decimal("187.00"), tax=Decimal("32.45"),
        content={
            "seller": {"name": "Academia", "tax_id": "B12345674", "address": "Calle del Faro 7"},
            "order": order.pk, "operation_on": "2026-11-21", "discounts": [],
            "lines": [{"name": "Física", "vat": "general", "price": 18700, "total": 18700}],
            "breakdown": [{"vat": "general", "base": 15455, "tax": 3245}],
        },
    )  # fmt: skip
    PendingInvoice.objects.create(order=order)
    TaxRecord.objects.create(
        issuer="B12345674", number=n, kind="alta", invoice=invoice, content={},
        generated_at="2026-11-21T10:00:00+01:00", hash=f"{n:064}",
    )  # fmt: skip


def make_leads(n, *, subject):
    email = f"visitante{n}@example.com"
    quoted = Lead.objects.create(kind="quote", email=email, assigned_to=User.objects.first())
    Quote.objects.create(
        lead=quoted, payment_type="full_payment", date_range="other", base_price=192,
        final_price=192, binding_price=192, valid_until=timezone.now(),
    )  # fmt: skip
    quoted.entries.create(kind="answer", author_name="carla", subject="Hola", body="Sí.")
    AnswerTemplate.objects.create(name=f"Saludo {n}", subject="Hola", body="Hola {nombre}:")
    requested = RequestedSubject.objects.create(
        name=f"Falta {n}", career="Economía", university="Otra", key=f"{n}", subject=subject
    )
    missed = Lead.objects.create(kind="subject_request", email=email)
    SubjectRequest.objects.create(
        lead=missed, requested_subject=requested, university="Otra", subject_name=requested.name
    )


def add_rows_to(order, *, subject, lesson):
    for line in (None, lesson):
        OrderLine.objects.create(
            order=order, subject=subject, lesson=line, name=subject.name,
            subject_name=subject.name, degree_name="Economía", university_name="Universidad",
            list_price=192, price=192,
        )  # fmt: skip
    OrderDiscount.objects.create(order=order, name="Descuento por volumen", amount=15)
    OrderEvent.objects.create(
        order=order, kind="created", actor="comprador", reason="Pedido creado"
    )
    number = order.instalments.count() + 1
    Instalment.objects.create(order=order, number=number, amount=63, due_on="2026-11-21")

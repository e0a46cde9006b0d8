"""Template tags: the orders, access, mails and contacts on a student's admin page."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

from django import template
from django.conf import settings
from django.db.models import Sum

from apps.backoffice.student_merge import OtherStudentForm
from apps.classroom.models import Account, Enrolment, Provisioning
from apps.core.identity import email_identity
from apps.core.mail.samples import mail_title
from apps.core.models import Mail
from apps.leads.models import Lead
from apps.orders.admin_pages.order_head import State, state_of
from apps.orders.models import Order, Payment
from apps.students.models import SignIn, Student
from apps.students.student_buttons import BlockForm

register = template.Library()
# The newest of each kind. The lists that the page links to have all of them.
SHOWN = 20


@dataclass(frozen=True)
class Record:
    """The rows of one student. A kind that the user may not see is empty."""

    orders: list[tuple[Order, State]]
    paid: Any
    enrolments: list[Enrolment]
    # The orders whose access is not open yet, or failed.
    awaited: list[Provisioning]
    account: Account | None
    # Whether the button for Moodle is shown.
    sends_access: bool
    sign_ins: list[SignIn]
    mails: list[tuple[Mail, str]]
    contacts: list[Lead]
    former_emails: list[str]
    block_form: BlockForm
    merge_form: OtherStudentForm
    # The id of one click on a button: the same click sent twice works once.
    form_key: UUID


@register.simple_tag
def student_record(student: Student, user: Any) -> Record:
    former = [row.email for row in student.former_emails.all()]
    addresses = [student.email, *former]
    return Record(
        orders=_orders(student) if user.has_perm("orders.view_order") else [],
        paid=_paid(student) if user.has_perm("orders.view_payment") else None,
        enrolments=_enrolments(student) if user.has_perm("classroom.view_enrolment") else [],
        awaited=_awaited(student) if user.has_perm("classroom.view_provisioning") else [],
        account=Account.objects.filter(student=student).first()
        if user.has_perm("classroom.view_account")
        else None,
        sends_access=settings.CLASSROOM == "moodle"
        and student.erased_at is None
        and user.has_perm("classroom.send_student_access"),
        sign_ins=list(student.sign_ins.all()[:SHOWN])
        if user.has_perm("students.view_signin")
        else [],
        mails=_mails(addresses) if user.has_perm("core.view_mail") else [],
        contacts=_contacts(addresses) if user.has_perm("leads.view_all_leads") else [],
        former_emails=former,
        block_form=BlockForm(auto_id="block_%s"),
        merge_form=OtherStudentForm(auto_id="merge_%s"),
        form_key=uuid4(),
    )


def _orders(student: Student) -> list[tuple[Order, State]]:
    orders = Order.objects.filter(student=student).select_related("by_staff")
    return [(order, state_of(order)) for order in orders.order_by("-created_at")[:SHOWN]]


def _paid(student: Student) -> Any:
    succeeded = Payment.objects.filter(
        order__student=student, status=Payment.Status.SUCCEEDED, currency="eur"
    )
    sums = succeeded.aggregate(paid=Sum("amount"), refunded=Sum("refunded"))
    return (sums["paid"] or 0) - (sums["refunded"] or 0)


def _enrolments(student: Student) -> list[Enrolment]:
    rows = Enrolment.objects.filter(student=student).select_related("subject", "lesson")
    return list(rows.order_by("-granted_at")[:SHOWN])


def _awaited(student: Student) -> list[Provisioning]:
    rows = Provisioning.objects.filter(student=student).exclude(status=Provisioning.Status.CREATED)
    return list(rows.order_by("-order_id")[:SHOWN])


def _mails(addresses: list[str]) -> list[tuple[Mail, str]]:
    mails = Mail.objects.filter(to__in=addresses).order_by("-created_at")[:SHOWN]
    return [(mail, mail_title(mail.template)) for mail in mails]


def _contacts(addresses: list[str]) -> list[Lead]:
    identities = {email_identity(address) for address in addresses}
    return list(Lead.objects.filter(email__in={*addresses, *identities}).order_by("-pk")[:SHOWN])

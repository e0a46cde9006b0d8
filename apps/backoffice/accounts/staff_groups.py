"""The groups of staff, each with its permissions (docs/rules.md, "Staff").

`manage.py staff_groups` creates them. The owner may change them afterwards in the admin.
"""

from collections.abc import Collection
from dataclasses import dataclass

from django.contrib.auth.models import Group, Permission
from django.db.models import Q

# The apps whose permissions staff may have. Permissions of packages are for superusers.
OUR_APPS = (
    "catalogue", "classroom", "core", "invoices", "leads", "orders", "pages", "payments", "pricing",
    "students",
)  # fmt: skip


@dataclass(frozen=True)
class GroupDefinition:
    """A group: the apps and models that it may view or work on, and single permissions.

    Apps are named by their label, models as "app.model". `permissions` are full names.
    """

    name: str
    views: Collection[str] = ()
    works_on: Collection[str] = ()
    permissions: Collection[str] = ()
    # Permissions of the apps and models above that the group has not.
    without: Collection[str] = ()

    def filter(self) -> Q:
        """The filter for the group's permissions."""
        matches = Q(pk__in=())
        for app_or_model in self.views:
            matches |= _of(app_or_model) & Q(codename__startswith="view_")
        for app_or_model in self.works_on:
            matches |= _of(app_or_model)
        for permission in self.permissions:
            matches |= _named(permission)
        for permission in self.without:
            matches &= ~_named(permission)
        return matches


def _named(permission: str) -> Q:
    app, _, codename = permission.partition(".")
    return Q(content_type__app_label=app, codename=codename)


def _of(app_or_model: str) -> Q:
    app, _, model = app_or_model.partition(".")
    of_app = Q(content_type__app_label=app)
    return of_app & Q(content_type__model=model) if model else of_app


GROUP_DEFINITIONS = (
    GroupDefinition(
        "Dirección",
        works_on=(*OUR_APPS, "auth.user", "auth.group"),
        permissions=("admin.view_logentry",),
    ),
    GroupDefinition(
        "Atención",
        views=(
            "catalogue",
            "classroom",
            "invoices.invoice",
            "invoices.pendinginvoice",
            "leads",
            "orders",
            "pricing",
            "students",
        ),
        works_on=("leads.answertemplate",),
        permissions=(
            "classroom.change_accesschange",
            "classroom.change_provisioning",
            "classroom.extend_enrolment",
            "classroom.send_student_access",
            "core.change_mail",
            "core.change_mail_words",
            "core.view_mail",
            "invoices.send_invoice",
            "leads.answer_lead",
            "leads.assign_lead",
            "leads.change_lead",
            "leads.change_requestedsubject",
            "leads.change_withdrawal",
            "leads.give_lead_code",
            "leads.view_all_leads",
            "orders.add_ordernote",
            "orders.add_stafforder",
            "orders.change_debt",
            "orders.change_gift",
            "orders.change_order",
            "orders.change_ordernote",
            "orders.exchange_orderline",
            "orders.resend_order_mail",
            "students.change_student",
        ),
    ),
    GroupDefinition(
        "Contenido",
        # The terms of sale are decided by Dirección.
        # Another course for what is sold already, or one course for two things, is theirs, too.
        views=("classroom.moodlecourse", "leads.requestedsubject", "pricing.terms"),
        works_on=(
            "catalogue",
            "classroom.semester",
            "pages",
            "pricing.campaign",
            "pricing.promobatch",
            "pricing.promocode",
        ),
        permissions=(
            "classroom.add_moodlecourse",
            "classroom.check_moodle",
            "core.add_legaltext",
            "core.change_deletedrow",
            "core.change_sitesettings",
            "core.view_deletedrow",
            "core.view_legaltext",
            "core.view_sitesettings",
            "leads.change_requestedsubject",
        ),
        # A wrong VAT is owed to the tax agency, and an issued invoice keeps it.
        without=("catalogue.change_vat",),
    ),
    # Only the leads of the degrees that are chosen on the page of each account.
    GroupDefinition(
        "Profesor",
        permissions=(
            "leads.answer_lead",
            "leads.change_lead",
            "leads.view_lead",
            "leads.view_subjectrequest",
        ),
    ),
    GroupDefinition(
        "Contabilidad",
        views=("invoices", "leads.withdrawal", "orders", "payments", "pricing", "students.student"),
        permissions=(
            "invoices.export_vat_book",
            "invoices.issue_invoice",
            "invoices.read_vat_book",
            "invoices.send_invoice",
            "leads.change_withdrawal",
            "orders.add_ordernote",
            "orders.add_transferreceipt",
            "orders.change_instalment",
            "orders.change_order",
            "orders.change_ordernote",
            "orders.change_payment",
            "orders.export_order",
            "orders.export_referralreward",
            "orders.pay_referralreward",
            "orders.read_takings",
            "orders.refund_order",
            "payments.export_reports",
        ),
    ),
)


def create_groups(*, reset: bool = False) -> list[str]:
    """Create the groups that are missing and return their names.

    A group that exists stays as its owner has changed it, unless `reset` gives it back its own
    permissions.
    """
    done = []
    for definition in GROUP_DEFINITIONS:
        group, is_new = Group.objects.get_or_create(name=definition.name)
        if is_new or reset:
            group.permissions.set(Permission.objects.filter(definition.filter()))
            done.append(definition.name)
    return done

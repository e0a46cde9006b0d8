"""Permissions of admin pages and actions: each group gets its own, all others get none."""

from urllib.parse import urlencode

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission, User
from django.http import HttpResponseForbidden
from django.test import Client
from django.urls import URLPattern, reverse

from apps.backoffice.accounts.staff_groups import GROUP_DEFINITIONS, create_groups
from apps.backoffice.today.page import Today
from apps.catalogue.models import CatalogueUpload, Subject
from apps.core.mail.outbox import deliver_mail
from apps.core.models import Mail, StaffAction
from apps.leads.models import Attachment, Lead
from apps.students.models import Student
from tests.helpers.admin import admin_url
from tests.helpers.one_of_everything import make_one_of_everything

pytestmark = pytest.mark.django_db

# Pages of everybody who may sign in, with or without permissions.
FOR_ALL_STAFF = {
    "index", "login", "logout", "password_change", "password_change_done", "jsi18n",
    "confirm_password", "second_factor", "second_factor_setup", "search",
    "second_factor_codes",
}  # fmt: skip
# The permission that each page beyond Django's own asks for.
ASKS_FOR = {
    "auth_user_password_change": "auth.change_user",
    "catalogue_export": "catalogue.export_catalogue",
    "catalogue_import": "catalogue.add_university",
    "catalogue_import_preview": "catalogue.add_university",
    "catalogue_lesson_order": "catalogue.change_lesson",
    "catalogue_subject_copy": "catalogue.add_subject",
    "classroom_moodlecourse_check": "classroom.check_moodle",
    "classroom_moodlecourse_csv": "classroom.view_moodlecourse",
    "classroom_moodlecourse_list": "classroom.add_moodlecourse",
    "classroom_moodlecourse_script": "classroom.check_moodle",
    "classroom_moodlecourse_send": "classroom.send_course_access",
    "classroom_moodlecourse_send_all": "classroom.send_all_access",
    "core_mail_html": "core.view_mail",
    "core_mail_sample": "core.view_mail",
    "core_mail_sample_html": "core.view_mail",
    "core_mail_sample_send": "core.view_mail",
    "core_mail_samples": "core.view_mail",
    "core_legaltext_preview": "core.add_legaltext",
    "invoices_invoice_issue": "invoices.issue_invoice",
    "invoices_invoice_pdf": "invoices.view_invoice",
    "invoices_invoice_recipient": "invoices.issue_invoice",
    "leads_attachment_download": "leads.view_lead",
    "orders_order_cambiar_correo": "students.change_student",
    "orders_order_cobrar_plazos": "orders.change_instalment",
    "orders_order_enviar_enlace": "orders.resend_order_mail",
    "orders_order_nota": "orders.add_ordernote",
    "orders_order_nota_hecha": "orders.change_ordernote",
    "orders_order_reenviar_confirmacion": "orders.resend_order_mail",
    "orders_order_nuevo": "orders.add_stafforder",
    "orders_order_transferencia": "orders.add_transferreceipt",
    "orders_order_reintentar_acceso": "classroom.change_provisioning",
    "pricing_promobatch_csv": "pricing.export_promobatch",
    "leads_lead_answer": "leads.answer_lead",
    "leads_lead_code": "leads.give_lead_code",
    "leads_lead_note": "leads.change_lead",
    "leads_lead_order": "orders.add_stafforder",
    "leads_lead_quote": "leads.answer_lead",
    "classroom_account_accesos": "classroom.send_student_access",
    "classroom_account_credenciales": "classroom.change_provisioning",
    "students_student_bloquear": "students.block_student",
    "students_student_desbloquear": "students.block_student",
    "merge_students": "students.merge_student",
    "preview": "pages.add_faq",
    "refund_order": "orders.refund_order",
    "recreate_order": "orders.recreate_order",
    "staff_invite": "auth.add_user",
    "reports": "payments.view_reports",
    "export_movements": "payments.export_reports",
}
# What Django's own pages ask for, by the last part of their names.
OF_PAGE = {"changelist": "view", "add": "add", "change": "view", "delete": "delete"}
OF_PAGE["history"] = "view"
# The permission of each action but "delete_selected", which asks to delete.
ACTIONS = {
    "auth.User:send_link": "auth.change_user",
    "orders.Order:attended": "orders.change_order",
    "orders.Payment:attended": "orders.change_payment",
    "orders.Instalment:charge_again": "orders.change_instalment",
    "orders.Refund:given_otherwise": "orders.refund_order",
    "orders.ReferralReward:mark_as_paid": "orders.pay_referralreward",
    "orders.ReferralReward:export_csv": "orders.export_referralreward",
    "leads.Lead:assign_to_me": "leads.assign_lead",
    "leads.Lead:mark_answered": "leads.change_lead",
    "leads.Lead:close": "leads.change_lead",
    "leads.Lead:export_csv": "leads.export_lead",
    "leads.RequestedSubject:publish_and_notify": "leads.change_requestedsubject",
    "leads.Withdrawal:send_acknowledgement": "leads.change_withdrawal",
    "students.Student:erase": "students.delete_student",
    "classroom.Account:allow": "classroom.change_provisioning",
    "classroom.Provisioning:try_again": "classroom.change_provisioning",
    "classroom.AccessChange:try_again": "classroom.change_accesschange",
    "catalogue.Subject:put_on_sale": "catalogue.change_subject",
    "catalogue.Subject:take_off_sale": "catalogue.change_subject",
    "catalogue.Subject:change_prices": "catalogue.change_lesson",
    "catalogue.Subject:expire_lessons": "catalogue.change_lesson",
    "catalogue.Subject:open_lessons": "catalogue.change_lesson",
    "catalogue.Lesson:change_prices": "catalogue.change_lesson",
    "catalogue.Lesson:expire": "catalogue.change_lesson",
    "catalogue.Lesson:reopen": "catalogue.change_lesson",
    "invoices.Invoice:send_again": "invoices.send_invoice",
    "invoices.PendingInvoice:try_again": "invoices.issue_invoice",
    "pages.Opinion:publish": "pages.change_opinion",
    "pages.Opinion:reject": "pages.change_opinion",
    "pricing.PromoBatch:switch_off": "pricing.change_promobatch",
    "core.DeletedRow:restore": "core.change_deletedrow",
    "core.Mail:send_again": "core.change_mail",
    "core.ScheduledJob:run_now": "core.change_scheduledjob",
}
# Permissions over money, data and other accounts, with the groups that have them.
POWERS = {
    "orders.read_takings": {"Dirección", "Contabilidad"},
    "orders.refund_order": {"Dirección", "Contabilidad"},
    "orders.recreate_order": {"Dirección"},
    "orders.resend_order_mail": {"Dirección", "Atención"},
    "students.block_student": {"Dirección"},
    "students.merge_student": {"Dirección"},
    "orders.add_stafforder": {"Dirección", "Atención"},
    "orders.add_transferreceipt": {"Dirección", "Contabilidad"},
    "orders.add_ordernote": {"Dirección", "Atención", "Contabilidad"},
    "orders.pay_referralreward": {"Dirección", "Contabilidad"},
    "orders.export_referralreward": {"Dirección", "Contabilidad"},
    "invoices.issue_invoice": {"Dirección", "Contabilidad"},
    "invoices.send_invoice": {"Dirección", "Atención", "Contabilidad"},
    "leads.export_lead": {"Dirección"},
    "payments.view_reports": {"Dirección", "Contabilidad"},
    "payments.export_reports": {"Dirección", "Contabilidad"},
    "leads.answer_lead": {"Dirección", "Atención"},
    "leads.assign_lead": {"Dirección", "Atención"},
    "leads.give_lead_code": {"Dirección", "Atención"},
    "catalogue.export_catalogue": {"Dirección", "Contenido"},
    "catalogue.change_subject": {"Dirección", "Contenido"},
    "classroom.check_moodle": {"Dirección", "Contenido"},
    "classroom.send_student_access": {"Dirección", "Atención"},
    "classroom.send_course_access": {"Dirección"},
    "classroom.send_all_access": {"Dirección"},
    "pricing.export_promobatch": {"Dirección", "Contenido"},
    "pricing.add_promocode": {"Dirección", "Contenido"},
    "core.add_legaltext": {"Dirección", "Contenido"},
    "core.view_mail": {"Dirección", "Atención"},
    "core.view_staffaction": {"Dirección"},
    "core.change_deletedrow": {"Dirección", "Contenido"},
    "students.delete_student": {"Dirección"},
    "students.view_student": {"Dirección", "Atención", "Contabilidad"},
    "leads.view_lead": {"Dirección", "Atención"},
    "leads.change_withdrawal": {"Dirección", "Atención", "Contabilidad"},
    "auth.change_user": {"Dirección"},
    "auth.change_group": {"Dirección"},
}
GROUPS = [definition.name for definition in GROUP_DEFINITIONS]


@pytest.fixture
def rows():
    """A row in every table of the admin, each table's first row by its model."""
    make_one_of_everything()
    lead = Lead.objects.first()
    Attachment.objects.create(lead=lead, original_name="a.pdf", stored_name="x", size=1)
    staff = User.objects.create_user("otro", is_staff=True)
    CatalogueUpload.objects.create(uploaded_by=staff, name="c.csv", content=b"x")
    deliver_mail.enqueue(mail_id=0)
    create_groups()
    return {model: model._default_manager.first() for model in apps.get_models()}


@pytest.fixture
def _plain_refusals(monkeypatch):
    """Answer 403 without a page: its navigation takes longer than all the rest of a refusal."""
    monkeypatch.setattr("academy.urls.handler403", lambda *_, **__: HttpResponseForbidden())


def sign_in(who):
    client = Client(raise_request_exception=False)
    if who == "nobody":
        return client, None
    user = User.objects.create_user("eva", email="eva@example.com", is_staff=True)
    if who in GROUPS:
        user.groups.add(Group.objects.get(name=who))
    client.force_login(user)
    return client, User.objects.get(pk=user.pk)


def patterns(found):
    for pattern in found:
        if isinstance(pattern, URLPattern):
            yield pattern
        else:
            yield from patterns(pattern.url_patterns)


def model_of(name):
    """The model of Django's own pages: "orders_order_change" is of Order."""
    by_prefix = {m._meta.label_lower.replace(".", "_"): m for m in admin.site._registry}
    return by_prefix.get(name.rpartition("_")[0])


def address(pattern, rows):
    known = {
        "order_id": rows[apps.get_model("orders", "Order")].pk,
        "student_id": rows[apps.get_model("students", "Student")].pk,
        "template": "order_confirmation",
        "ending": "csv",
        "written": "2026-11",
        "app_label": "orders",
        "label": "pages.faq",
        "content_type_id": 1,
        "url": "admin",
    }
    row = rows.get(model_of(pattern.name))
    if pattern.name == "auth_user_password_change":
        row = rows[User]
    elif pattern.name == "leads_attachment_download":
        row = rows[Attachment]
    elif pattern.name in ("invoices_invoice_pdf", "invoices_invoice_recipient"):
        row = rows[apps.get_model("invoices", "Invoice")]
    elif pattern.name in ("catalogue_lesson_order", "catalogue_subject_copy"):
        row = rows[Subject]
    elif pattern.name == "catalogue_import_preview":
        row = rows[CatalogueUpload]
    number = row.pk if row else 1
    names = pattern.pattern.converters or pattern.pattern.regex.groupindex
    return {name: known.get(name, number) for name in names}


def permission_for(name):
    if name in ASKS_FOR:
        return ASKS_FOR[name]
    model, page = model_of(name), name.rpartition("_")[2]
    return f"{model._meta.app_label}.{OF_PAGE[page]}_{model._meta.model_name}"


def contents():
    """Every row of the database, without sessions."""
    return {
        model: sorted(map(repr, model._base_manager.values_list()))
        for model in apps.get_models()
        if model._meta.label not in ("sessions.Session", "admin.LogEntry", "core.StaffAction")
    }


def is_refused(answer):
    to_login = answer.status_code == 302 and answer["Location"].startswith("/admin/login/")
    return answer.status_code == 403 or to_login


@pytest.mark.usefixtures("_plain_refusals")
@pytest.mark.parametrize("who", ["nobody", "staff without permissions", *GROUPS])
def test_every_page_of_the_admin_asks_for_its_permission(who, rows):
    client, user = sign_in(who)
    before = contents()
    names = set()
    for pattern in patterns(admin.site.urls[0]):
        name = pattern.name
        if name in (None, "app_list", "view_on_site", "autocomplete"):
            continue  # Below.
        names.add(name)
        url = reverse(f"admin:{name}", kwargs=address(pattern, rows))
        if user is not None and name in FOR_ALL_STAFF:
            continue
        if user is not None and user.has_perm(permission_for(name)):
            if not pattern.name.endswith("_changelist"):  # Those have tests of their own.
                assert client.get(url).status_code < 500, url
            continue
        if name in ("login", "logout", "jsi18n"):
            continue
        for answer in (client.get(url), client.post(url, {"post": "yes", "confirm": "x"})):
            assert is_refused(answer), (url, answer.status_code)
    assert contents() == before
    assert set(ASKS_FOR) < names


@pytest.mark.parametrize("who", ["nobody", "staff without permissions"])
def test_pages_for_parts_of_urls_tell_nothing_without_permissions(who, rows):
    client, _ = sign_in(who)
    query = {"app_label": "orders", "model_name": "order", "field_name": "student", "term": "a"}
    refused = client.get(f"{reverse('admin:autocomplete')}?{urlencode(query)}")
    assert is_refused(refused)
    for url in ("/admin/orders/", "/admin/nothing/here/"):
        assert client.get(url).status_code in (302, 404)


@pytest.mark.usefixtures("_plain_refusals")
@pytest.mark.parametrize("who", ["nobody", "staff without permissions", *GROUPS])
def test_every_action_asks_for_its_permission(who, rows):
    client, user = sign_in(who)
    seen = set()
    before = contents()
    for model, page in admin.site._registry.items():
        for _, name, _ in page._get_base_actions():
            if name == "delete_selected":
                permission = f"{model._meta.app_label}.delete_{model._meta.model_name}"
            else:
                permission = ACTIONS[f"{model._meta.label}:{name}"]
                seen.add(f"{model._meta.label}:{name}")
            if user is not None and user.has_perm(permission):
                continue
            row = rows[model]
            client.post(
                admin_url(model, "changelist"),
                {"action": name, "_selected_action": row.pk if row else 1, "confirmed": "yes",
                 "post": "yes"},
            )  # fmt: skip
    assert contents() == before
    assert seen == set(ACTIONS)
    assert not LogEntry.objects.exists()


def test_groups_have_the_permissions_of_their_definitions():
    create_groups()
    for permission, names in POWERS.items():
        app, _, codename = permission.partition(".")
        having = Permission.objects.get(content_type__app_label=app, codename=codename)
        assert set(having.group_set.values_list("name", flat=True)) == names, permission


def test_a_group_stays_as_its_owner_has_changed_it_until_it_is_reset():
    assert create_groups() == GROUPS
    group = Group.objects.get(name="Atención")
    group.permissions.clear()
    assert create_groups() == []
    assert not group.permissions.exists()
    assert create_groups(reset=True) == GROUPS
    assert group.permissions.exists()


def test_the_start_page_shows_no_figures_without_permissions(rows):
    client, _ = sign_in("staff without permissions")
    page = client.get("/admin/")
    assert page.context["today"] == Today()
    assert b"example.com" not in page.content


def test_reading_a_mail_is_logged_once_with_its_frame(rows):
    client, user = sign_in("Atención")
    mail = Mail.objects.get()
    client.get(admin_url(Mail, "change", mail.pk))
    client.get(reverse("admin:core_mail_html", args=[mail.pk]))

    action = StaffAction.objects.get(actor=user)
    assert (action.kind, action.about, action.object_id) == ("read", "core.mail", str(mail.pk))


@pytest.mark.parametrize("model", [Student, Lead])
def test_opening_personal_data_is_logged(rows, model):
    client, user = sign_in("Atención")
    row = rows[model]
    for _ in range(2):
        assert client.get(admin_url(model, "change", row.pk)).status_code == 200

    action = StaffAction.objects.get(actor=user)
    assert (action.kind, action.object_id) == ("read", str(row.pk))


def test_an_action_is_logged_with_the_rows_that_it_was_run_on(rows):
    client, user = sign_in("Atención")
    lead = Lead.objects.first()
    ticked = {"action": "close", "_selected_action": [lead.pk]}
    client.post(admin_url(Lead, "changelist"), ticked)

    entry = LogEntry.objects.get()
    assert (entry.user, entry.change_message) == (user, f"Cerrar: {lead.pk}")


@pytest.mark.parametrize("chosen", ["abc", "9" * 30, "", "1 OR 1"])
def test_an_action_on_rows_that_can_not_exist_is_a_bad_request(rows, chosen):
    client, _ = sign_in("Atención")
    ticked = {"action": "close", "_selected_action": [chosen]}
    assert client.post(admin_url(Lead, "changelist"), ticked).status_code == 400

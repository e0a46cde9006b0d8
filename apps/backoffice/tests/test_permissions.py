"""Permissions of the admin: docs/permissions.md lists who gets in, and every address agrees."""

import json
import re
from functools import cache

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import AnonymousUser, Group, Permission, User
from django.forms import FileField
from django.forms.models import _get_foreign_key
from django.http import Http404
from django.test import Client
from django.urls import reverse

from apps.backoffice.accounts.staff_groups import GROUP_DEFINITIONS, create_groups
from apps.backoffice.models import Authenticator
from apps.backoffice.today.page import Today
from apps.classroom.models import Provisioning
from apps.core.models import Mail, StaffAction
from apps.core.staff.admin_lookups import allowed_lookups
from apps.core.staff.fresh_password import PasswordConfirmation
from apps.leads.models import Lead
from apps.payments.models import ProviderEvent
from apps.students.models import Student
from tests.helpers.admin import admin_url
from tests.helpers.admin_addresses import asked_directly, first_rows, model_of, patterns, url_of
from tools.dev.processes import ROOT

pytestmark = pytest.mark.django_db

GROUPS = [definition.name for definition in GROUP_DEFINITIONS]
LETTERS = {
    "D": "Dirección",
    "A": "Atención",
    "C": "Contenido",
    "M": "Contabilidad",
    "P": "Profesor",
}
INSIDE = ["staff without permissions", *GROUPS]
OUTSIDE = ["visitor", "not of staff", "deactivated", "superuser without second factor"]
OPEN_TO_VISITORS = {"login/", "logout/"}
STEPS_OF_SIGN_IN = {"login/", "logout/", "clave", "segundo-factor", "segundo-factor/activar"}
VERBS = ("view", "add", "change", "delete")
# The verb of Django's own pages, by the last part of their names.
VERB_OF_PAGE = {"changelist": "view", "history": "view"} | {verb: verb for verb in VERBS[1:]}


@cache
def tables():
    """The tables of the document by their headings: rows of cells, without their backticks."""
    text = (ROOT / "docs/permissions.md").read_text(encoding="utf-8")
    found = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        lines = re.findall(r"^\| (.+) \|$", section, re.MULTILINE)[2:]
        rows = [[cell.replace("`", "").strip() for cell in line.split(" | ")] for line in lines]
        found[section.partition("\n")[0]] = rows
    return found


@cache
def asked():
    """The permission of each address and action; None where nobody ever gets in."""
    found = {}
    for label, *cells in tables()["Lists and forms"]:
        app, model = label.lower().split(".")
        for verb, groups in zip(VERBS, cells, strict=True):
            groups, _, other = groups.partition(" by ")
            nobody = groups in ("never", "superusers")
            name = None if nobody else other or f"{app}.{verb}_{model}"
            found[label, verb] = (name, groups)
    for heading in ("Other addresses", "Actions on lists", "Parts of pages"):
        found |= {name: (permission, groups) for name, permission, groups in tables()[heading]}
    return found


def has_all(user, permissions):
    """Whether the user has each permission of a cell, such as "a.view_x and b.view_y"."""
    return user.has_perms(permissions.split(" and "))


@cache
def for_all_staff():
    text = (ROOT / "docs/permissions.md").read_text(encoding="utf-8")
    return set(re.findall(r"`([^`]+)`[,:\n ]", text.partition("## For all staff")[2])) | {""}


def key_of(route, pattern):
    """The row of the document that holds this address; None if it is for all staff."""
    verb, model = VERB_OF_PAGE.get((pattern.name or "").rpartition("_")[2]), model_of(pattern)
    if verb and model:
        return model._meta.label, verb
    if pattern.name == "app_list":
        route = "^(?P<app_label>...)/$"
    elif pattern.name is None and route.endswith("<path:object_id>/"):
        route = "<path:object_id>/"
    return None if route in for_all_staff() else route


@pytest.fixture(scope="module")
def rows(module_transaction):
    with module_transaction.unblock():
        return first_rows()


def account(who):
    if who == "visitor":
        return AnonymousUser()
    user = User.objects.create_user(
        "eva",
        email="eva@example.com",
        is_staff=who != "not of staff",
        is_active=who != "deactivated",
        is_superuser=who not in INSIDE,
    )
    if who in GROUPS:
        user.groups.add(Group.objects.get(name=who))
    user = User.objects.get(pk=user.pk)
    if who in INSIDE:
        # The second factor was given: each of a thousand requests would look for one.
        user.otp_device = Authenticator(user=user, confirmed=True)
    return user


def sign_in(who):
    client = Client(raise_request_exception=False)
    user = account(who)
    client.force_login(user)
    return client, user


def contents():
    """Every row of the database, without sessions, logs and counts of requests."""
    without = ("sessions.Session", "admin.LogEntry", "core.StaffAction", "core.RateCount")
    return {
        model: sorted(map(repr, model._base_manager.values_list()))
        for model in apps.get_models()
        if model._meta.label not in without
    }


def test_tables_list_every_address_and_every_action():
    keys = {key_of(route, pattern) for route, pattern in patterns(admin.site.urls[0])}
    actions = {
        f"{model._meta.label}:{name}"
        for model, page in admin.site._registry.items()
        for _, name, _ in page._get_base_actions()
        if name != "delete_selected"
    }
    parts = {name for name, *_ in tables()["Parts of pages"]}
    assert keys - {None} | actions == asked().keys() - parts


def test_groups_of_tables_have_the_permissions():
    create_groups()
    having = {}
    for app, codename, group in Permission.objects.filter(group__isnull=False).values_list(
        "content_type__app_label", "codename", "group__name"
    ):
        having.setdefault(f"{app}.{codename}", set()).add(group)
    for name, (permission, groups) in asked().items():
        if permission is not None:
            expected = set.intersection(*(having[each] for each in permission.split(" and ")))
            assert {LETTERS[letter] for letter in groups.split()} == expected, name


@pytest.mark.parametrize("who", [*OUTSIDE, *INSIDE])
def test_every_address_lets_in_whom_its_table_lists(who, rows, settings):
    settings.REQUIRE_SECOND_FACTOR = who in OUTSIDE
    user, before = account(who), contents()
    is_half_in = who == "superuser without second factor"
    open_to_all = STEPS_OF_SIGN_IN if is_half_in else OPEN_TO_VISITORS
    let_in = []
    for route, pattern in patterns(admin.site.urls[0]):
        url = url_of(route, pattern, rows)
        key = key_of(route, pattern)
        permission = asked()[key][0] if key else ""
        if who in OUTSIDE and route not in open_to_all:
            may = False
        else:
            may = permission is not None and (not permission or has_all(user, permission))
        # A permission to view opens the form that changes the row; it saves nothing.
        reads = key is not None and key[1] == "change" and who in INSIDE
        if may:
            let_in.append(url)
        else:
            hostile = {"post": "yes", "confirm": "x", "_save": "x"}
            assert asked_directly(user, url, hostile) is None, url
            view = asked()[key[0], "view"][0] if reads else None
            may_read = view is not None and user.has_perm(view)
            assert (asked_directly(user, url) is not None) == may_read, url
    assert contents() == before
    for url in let_in:
        if url == reverse("admin:autocomplete"):
            continue  # Below: it answers for one model at a time.
        assert asked_directly(user, url) is not None, url


@pytest.mark.parametrize("who", INSIDE)
def test_every_action_asks_for_its_permission(who, rows):
    user, before = account(who), contents()
    for model, page in admin.site._registry.items():
        url = admin_url(model, "changelist")
        # The last two are methods of the page, and no actions.
        for _, name, _ in [*page._get_base_actions(), (0, "delete_queryset", 0), (0, "save", 0)]:
            key = f"{model._meta.label}:{name}"
            if name == "delete_selected":
                permission = asked()[model._meta.label, "delete"][0]
            else:
                permission = asked().get(key, (None,))[0]
            if permission is not None and user.has_perm(permission):
                continue
            row = rows[model]
            chosen = {"_selected_action": row.pk if row else 1, "confirmed": "yes", "post": "yes"}
            answer = asked_directly(user, url, {"action": name, **chosen})
            # An action may ask first. Its question is a page that is not the list.
            assert "cl" in (getattr(answer, "context_data", None) or {"cl"}), key
            assert not isinstance(answer, PasswordConfirmation), key
    assert contents() == before
    assert not LogEntry.objects.exists()


@pytest.mark.parametrize("who", INSIDE)
def test_autocomplete_and_app_lists_show_only_what_may_be_viewed(who, rows):
    user = account(who)
    relations = [
        (model, field)
        for model in admin.site._registry
        for field in (*model._meta.fields, *model._meta.many_to_many)
        if field.is_relation
    ]
    for model, relation in relations:
        remote = relation.related_model
        query = f"app_label={model._meta.app_label}&model_name={model._meta.model_name}"
        url = f"{reverse('admin:autocomplete')}?{query}&field_name={relation.name}&term="
        answer = asked_directly(user, url)
        shown = isinstance(answer, Http404) is False and answer is not None
        may = remote in admin.site._registry and user.has_perm(
            f"{remote._meta.app_label}.view_{remote._meta.model_name}"
        )
        assert shown <= may, url
        if shown:
            assert all(
                set(each) == {"id", "text"} for each in json.loads(answer.content)["results"]
            )
    for app in {model._meta.app_label for model in admin.site._registry}:
        answer = asked_directly(user, f"/admin/{app}/")
        shown = [] if isinstance(answer, Http404) else answer.context_data["app_list"][0]["models"]
        assert {each["model"] for each in shown} == {
            model
            for model in admin.site._registry
            if model._meta.app_label == app
            and user.has_perm(f"{app}.view_{model._meta.model_name}")
        }


@pytest.mark.parametrize("who", GROUPS)
def test_no_list_is_searched_or_filtered_by_what_its_reader_may_not_view(who, rf):
    """A search by a hidden column tells letter by letter what is in it."""
    create_groups()
    request = rf.get("/")
    request.user = user = account(who)
    hidden = set()
    for model, page in admin.site._registry.items():
        if not page.has_view_permission(request):
            continue
        lookups = allowed_lookups(page, request)
        paths = [name for name in lookups if page.lookup_allowed(name, "1", request)]
        for path in [*paths, *(name.strip("^=@") for name in page.get_search_fields(request))]:
            for remote in related_models(model, path):
                if not user.has_perm(f"{remote._meta.app_label}.view_{remote._meta.model_name}"):
                    hidden.add((model._meta.label, path))
    # The author of a price change is no personal data.
    assert hidden <= {
        ("catalogue.PriceChange", "changed_by__id__exact"),
        ("catalogue.PriceChange", "changed_by__isnull"),
    }


def related_models(model, path):
    """The models that a look-up such as "order__student__email" goes through."""
    for part in path.split("__"):
        field = next((each for each in model._meta.get_fields() if each.name == part), None)
        if field is None or field.related_model is None:
            return
        model = field.related_model
        yield model


def test_no_model_has_an_address_that_the_admin_leads_all_staff_to():
    """`/admin/r/` asks for no permission of the model."""
    assert not [model for model in apps.get_models() if hasattr(model, "get_absolute_url")]


def test_a_popup_chooses_rows_by_their_number_only(rf):
    """`?_to_field=password` would show that column in the list of a popup."""
    for model, page in admin.site._registry.items():
        names = {field.name for field in model._meta.fields}
        offered = {name for name in names if page.to_field_allowed(rf.get("/"), name)}
        # Enrolments point to their access by the number of its order.
        numbers = {"order_id"} if model is Provisioning else set()
        assert offered <= {model._meta.pk.name} | numbers, model


@pytest.mark.parametrize("model", [m for m, p in admin.site._registry.items() if p.list_editable])
def test_a_list_with_fields_saves_nothing_for_those_who_may_only_view(model, rows):
    user = account("staff without permissions")
    codename = f"view_{model._meta.model_name}"
    user.user_permissions.add(Permission.objects.get(codename=codename))
    before = contents()
    forms = {"form-TOTAL_FORMS": 1, "form-INITIAL_FORMS": 1, "form-0-id": rows[model].pk}
    forged = {**forms, "form-0-position": 77, "_save": "x"}
    assert (
        asked_directly(User.objects.get(pk=user.pk), admin_url(model, "changelist"), forged) is None
    )
    assert contents() == before


def form_data(page):
    """The fields that a browser sends from a page with a form and rows below it."""
    formsets = [each.formset for each in page.context_data["inline_admin_formsets"]]
    forms = [page.context_data["adminform"].form]
    forms += [form for each in formsets for form in (each.management_form, *each.forms)]
    boxes = {
        bound.html_name: bound.value()
        for form in forms
        for bound in form
        if not isinstance(bound.field, FileField)
    }
    return {
        name: value for name, value in boxes.items() if value is not None and value is not False
    }


@pytest.mark.parametrize(
    ("model", "inline"),
    [
        (model, inline)
        for model, page in admin.site._registry.items()
        for inline in page.inlines
        if asked()[model._meta.label, "change"][0]
    ],
    ids=lambda each: each.__name__,
)
def test_rows_below_a_form_save_nothing_for_those_who_may_only_view_them(model, inline, rows):
    """Their boxes are missing from the page, but not from a request made by hand."""
    user = account("staff without permissions")
    allowed = (f"view_{inline.model._meta.model_name}", f"change_{model._meta.model_name}")
    user.user_permissions.set(Permission.objects.filter(codename__in=allowed))
    user = User.objects.get(pk=user.pk)
    relation = _get_foreign_key(model, inline.model, fk_name=inline.fk_name)
    row = inline.model.objects.filter(**{f"{relation.name}__isnull": False}).first()
    url = admin_url(model, "change", getattr(row, relation.attname))
    data = form_data(asked_directly(user, url))
    prefix = relation.remote_field.get_accessor_name()
    columns = {field.name: "7" for field in inline.model._meta.concrete_fields}
    for number, own in enumerate(({"id": row.pk, "DELETE": "on"}, {"id": ""})):
        data |= {f"{prefix}-{number}-{name}": text for name, text in {**columns, **own}.items()}
    data |= {f"{prefix}-TOTAL_FORMS": 2, f"{prefix}-INITIAL_FORMS": 1, "_save": "x"}
    before = contents()[inline.model]
    assert asked_directly(user, url, data).status_code == 302, "the form itself was refused"
    assert contents()[inline.model] == before


def test_no_form_offers_a_column_that_only_the_shop_writes(rf, rows):
    """A form without a list of fields would offer each new column by itself."""
    request = rf.get("/")
    request.user = User(is_superuser=True, is_active=True)
    offered = {
        f"{model.__name__}.{name}"
        for model, page in admin.site._registry.items()
        if asked()[model._meta.label, "change"][0]
        for name in page.get_form(request, rows[model], change=True).base_fields
    }
    written_by_shop = re.compile(r"token|key|hash|digest|secret|_at$|actor|reference|external|_by$")
    # The page of a contact shows a conversation instead of its form.
    assert sorted(filter(written_by_shop.search, offered)) == ["Lead.answered_at"]


def test_a_group_stays_as_its_owner_has_changed_it_until_it_is_reset():
    Group.objects.all().delete()
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


@pytest.mark.parametrize(
    ("group", "model"),
    [("Atención", Student), ("Atención", Lead), ("Dirección", ProviderEvent)],
)
def test_opening_personal_data_is_logged(rows, group, model):
    client, user = sign_in(group)
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

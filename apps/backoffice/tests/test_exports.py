"""No file that staff download runs as a formula when a spreadsheet opens it."""

import csv
import io
import re

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import CharField, TextField
from django.http import HttpResponse
from django.urls import reverse
from django.utils import timezone
from openpyxl import load_workbook

from apps.core.staff.spreadsheets import FORMULA_STARTS, as_text
from apps.payments.models import BalanceEntry
from apps.pricing.models import PromoBatch, PromoCode
from tests.helpers.admin import admin_url
from tests.helpers.admin_addresses import asked_directly, first_rows, model_of, patterns, url_of
from tools.dev.processes import ROOT

pytestmark = pytest.mark.django_db

SHEETS = {"text/csv", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}
# Every download of a table, each found below by its type. A new one is judged by the same test.
DOWNLOADS = {
    "catalogue_export csv", "catalogue_export xlsx", "classroom_moodlecourse_csv",
    "export_movements csv", "export_movements xlsx", "pricing_promobatch_csv",
    "export_asignaturas csv", "export_asignaturas xlsx", "export_equipo csv", "export_equipo xlsx",
    "export_uso csv", "export_uso xlsx",
    "invoices_book_export csv", "invoices_book_export xlsx",
    "leads.Lead:export_csv", "orders.ReferralReward:export_csv", "orders.Order:export_csv",
    "orders.OrderLine:export_csv", "students.Student:export_csv",
}  # fmt: skip
# Tables that hold no row of the shop.
WITHOUT_ROWS = {"catalogue_import_template"}
# The modules that write CSV or Excel files. A test fails for any other module that writes them.
WRITERS = {"apps/core/staff/spreadsheets.py", "apps/catalogue/exchange/writing.py"}
# Pages that Django makes for each model.
OF_DJANGO = ("_changelist", "_add", "_change", "_delete", "_history")
# Or a phone, which a spreadsheet takes for a number.
A_NUMBER = re.compile(r"-?\d+(,\d+)?|\+\d{5,15}")


def write_formulas():
    """Write a formula into every column of text that takes one."""
    for model in apps.get_models():
        if not model.__module__.startswith("apps."):
            continue
        for field in model._meta.concrete_fields:
            is_text = isinstance(field, CharField | TextField) and not field.choices
            if not is_text or field.primary_key or field.name in ("kind", "currency"):
                continue
            for row in model._base_manager.all():
                formula = f"=1+{row.pk}&\tcmd|' /C calc'!A0"[: field.max_length or 99]
                try:
                    with transaction.atomic():
                        model._base_manager.filter(pk=row.pk).update(**{field.name: formula})
                except IntegrityError:
                    continue  # A constraint refuses such a text, so no export can have it.


def candidates(rows):
    """The name, the address and the form of everything in the admin that might be a download."""
    this_month = f"{timezone.localdate():%Y-%m}"
    for route, pattern in patterns(admin.site.urls[0]):
        kwargs = set(pattern.pattern.converters or ())
        if pattern.name is None or (model_of(pattern) and pattern.name.endswith(OF_DJANGO)):
            continue
        if "ending" not in kwargs:
            yield pattern.name, url_of(route, pattern, rows), None
            continue
        for ending in ("csv", "xlsx"):
            chosen = {"ending": ending} | ({"written": this_month} if "written" in kwargs else {})
            yield f"{pattern.name} {ending}", reverse(f"admin:{pattern.name}", kwargs=chosen), None
    for model, page in admin.site._registry.items():
        for _, name, _ in page._get_base_actions():
            if "export" in name:
                ticked = {"action": name, "_selected_action": rows[model].pk}
                yield f"{model._meta.label}:{name}", admin_url(model, "changelist"), ticked


def is_table(answer):
    return isinstance(answer, HttpResponse) and answer["Content-Type"].split(";")[0] in SHEETS


def test_no_cell_of_any_download_is_a_formula():
    rows = first_rows()
    BalanceEntry.objects.create(
        reference="txn_1", kind="fee", amount_cents=-5, fee_cents=0, net_cents=-5, currency="eur",
        created_at=timezone.now(),
    )  # fmt: skip
    PromoCode.objects.update(batch=PromoBatch.objects.first())
    owner = User.objects.create_superuser("eva")
    found = {
        name: (url, form)
        for name, url, form in candidates(rows)
        if is_table(asked_directly(owner, url, form))
    }
    assert found.keys() == DOWNLOADS | WITHOUT_ROWS

    write_formulas()
    for name in DOWNLOADS:
        url, form = found[name]
        content = asked_directly(owner, url, form).content
        if name.endswith("xlsx"):
            book = load_workbook(io.BytesIO(content))
            cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row]
            assert not [cell.value for cell in cells if cell.data_type == "f"], name
            texts = [str(cell.value) for cell in cells]
        else:
            lines = csv.reader(io.StringIO(content.decode("utf-8-sig")), delimiter=";")
            texts = [text for line in lines for text in line]
            risky = [text for text in texts if text.startswith(FORMULA_STARTS)]
            assert not [text for text in risky if not A_NUMBER.fullmatch(text)], name
        assert [text for text in texts if text.startswith(("'=1+", "=1+"))], name


def test_only_these_modules_write_tables():
    writing = re.compile(r"csv\.(?:writer|DictWriter)|import Workbook")
    found = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "apps").rglob("*.py")
        if "tests" not in path.parts and writing.search(path.read_text(encoding="utf-8"))
    }
    assert found == WRITERS


@pytest.mark.parametrize("start", FORMULA_STARTS)
def test_csv_cells_are_escaped_against_formulas(start):
    assert as_text(f"{start}1+1") == f"'{start}1+1"
    assert as_text("1+1") == "1+1"
    assert as_text("+34600000184") == "+34600000184"
    assert as_text("+34600000184+1") == "'+34600000184+1"

import io
from datetime import timedelta
from decimal import Decimal
from unittest.mock import Mock

import pytest
import time_machine
from django.contrib.admin.models import LogEntry
from django.contrib.auth import get_user_model
from django.contrib.auth.models import Permission
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from openpyxl import load_workbook

from apps.catalogue.exchange import diff, uploads, views, writing
from apps.catalogue.exchange.columns import COLUMNS
from apps.catalogue.exchange.diff import diff_catalogue
from apps.catalogue.exchange.file_errors import BadFile
from apps.catalogue.exchange.uploads import import_upload, read_upload
from apps.catalogue.exchange.writing import write_catalogue
from apps.catalogue.models import (
    CatalogueUpload,
    Degree,
    Lesson,
    PriceChange,
    Subject,
    University,
)
from apps.core.models import StaffAction
from apps.core.web.throttle import Limit
from tests.helpers.admin import confirm_password, forget_password
from tests.helpers.commands import run_worker
from tests.helpers.factories import make_subject, make_university

pytestmark = pytest.mark.django_db
IMPORT = "/admin/catalogue/subject/importar/"
LIST = "/admin/catalogue/subject/"


def staff(name="carla", *actions, superuser=False):
    user = get_user_model().objects.create_user(
        name, password="x", is_staff=True, is_superuser=superuser
    )
    names = [
        f"{action}_{model}"
        for action in actions
        for model in ("university", "degree", "subject", "lesson")
    ]
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    return user


class Staff(Client):
    """A member of staff who waits until the worker has done what a form asks for."""

    def post(self, path, data=None, *arguments, **options):
        answer = super().post(path, data, *arguments, **{**options, "follow": False})
        if answer.status_code != 302:
            return answer
        run_worker()
        return self.get(answer.url, follow=True)


@pytest.fixture
def client():
    return Staff()


@pytest.fixture
def carla(client):
    user = staff("carla", "view", "add", "change")
    user.user_permissions.add(Permission.objects.get(codename="export_catalogue"))
    client.force_login(user)
    return user


def file(text=None, name="c.csv"):
    data = text.encode() if text is not None else write_catalogue(name)
    return {"file": SimpleUploadedFile(name, data)}


def dearer():
    return file(write_catalogue("c.csv").decode().replace("192,00", "201,00"))


def again(sent):
    """The same file, to be sent a second time."""
    sent["file"].seek(0)
    return sent


def fingerprint(page):
    return page.context["fingerprint"]


def test_upload_is_previewed_and_imported_after_confirmation(client, carla):
    subject = make_subject(price="192.00", lessons=1)

    shown = client.post(IMPORT, dearer(), follow=True)

    assert "Asignaturas: 0 por añadir, 1 con cambios, 0 sin cambios" in shown.text
    assert "precio: 192,00 → 201,00" in shown.text
    assert Subject.objects.get().final_price == 192
    done = client.post(shown.request["PATH_INFO"], {"fingerprint": fingerprint(shown)}, follow=True)
    assert done.request["PATH_INFO"] == LIST
    assert "Importado: c.csv" in done.text
    assert "Asignaturas: 0 añadidas, 1 cambiada, 0 sin cambios" in done.text
    assert Subject.objects.get().final_price == Decimal("201.00")
    change = PriceChange.objects.filter(subject=subject).latest("pk")
    assert (change.before, change.after, change.changed_by) == (192, 201, carla)
    assert {entry.user for entry in LogEntry.objects.all()} == {carla}
    assert not CatalogueUpload.objects.exists()


def changed_texts(*names, answer="Ingresa en ES91"):
    """A file that changes the questions of these subjects of one degree."""
    subject = Subject.objects.select_related("degree__university").get(name=names[0])
    university = subject.degree.university
    head = "universidad_siglas;universidad;grado;asignatura;preguntas\n"
    begin = f"{university.acronym};{university.name};{subject.degree.name}"
    return file(head + "".join(f'{begin};{name};"¿Cómo pago?\n{answer}"\n' for name in names))


def imported(client, sent):
    shown = client.post(IMPORT, sent)
    return client.post(shown.request["PATH_INFO"], {"fingerprint": fingerprint(shown)})


def test_import_logs_each_changed_row_with_its_old_and_new_values(client, carla):
    subject = make_subject(lessons=1)
    start = "Con tarjeta, Bizum o transferencia. " * 8
    Subject.objects.update(questions=f"¿Cómo pago?\n{start}Sin recargos.")

    imported(client, changed_texts(subject.name, answer=f"{start}Ingresa en ES91 2100."))

    text = StaffAction.objects.get(text__startswith="Filas de una importación").text
    assert f"{subject.name}: preguntas: …" in text
    assert "Sin recargos. → " in text
    assert text.endswith("Ingresa en ES91 2100.")


def test_log_of_an_import_has_several_entries_and_leaves_out_new_rows_alone(
    client, carla, monkeypatch
):
    monkeypatch.setattr(uploads, "MOST_IN_ENTRY", 2)
    monkeypatch.setattr(uploads, "MOST_LOGGED", 3)
    first = make_subject("S1", lessons=0)
    for number in range(2, 7):
        make_subject(f"S{number}", degree=first.degree, lessons=0)
    sent = dearer()
    stored = Subject.objects.order_by("name")
    stored.filter(name__in=("S5", "S6")).delete()
    # Rows that the log leaves out would change the shop without a trace.
    assert "cambia más filas" in client.post(IMPORT, sent).text
    stored.filter(name="S4").delete()

    imported(client, again(sent))

    texts = StaffAction.objects.order_by("pk").values_list("text", flat=True)
    assert [text.count("~") for text in texts] == [0, 2, 1, 0]
    assert texts[3] == "Importación: 3 filas más, que aquí no caben."


def test_log_of_an_import_has_a_bounded_number_of_letters(client, carla, monkeypatch):
    """Else each import of long texts would add megabytes to the log, twice."""
    monkeypatch.setattr(uploads, "LONGEST_ENTRY", 500)
    monkeypatch.setattr(uploads, "LONGEST_LOG", 2_500)
    first = make_subject("S1", lessons=1)
    names = ["S1", *(make_subject(f"S{n}", degree=first.degree).name for n in range(2, 6))]
    long = f"ES91 {'x' * 700}"

    # Rows that the log leaves out would change a text of the shop without a trace.
    assert (
        "cambia más filas o más texto de lo que guarda"
        in client.post(IMPORT, changed_texts(*names, answer=long)).text
    )
    assert not Subject.objects.exclude(questions="").exists()
    imported(client, changed_texts(*names[:3], answer=long))

    texts = StaffAction.objects.order_by("pk").values_list("text", flat=True)
    assert [text.count("ES91") for text in texts] == [0, 1, 1, 1]


def test_account_uploads_a_bounded_number_of_files_a_day(client, carla, monkeypatch):
    monkeypatch.setattr(uploads, "UPLOADS_A_DAY", Limit("few", times=1, seconds=86_400))
    make_subject()
    assert "fingerprint" in client.post(IMPORT, file()).context
    assert "Demasiad" in client.post(IMPORT, file()).text


@pytest.mark.parametrize("name", ["Universidad de Prueba", "Nueva"])
def test_import_of_staff_makes_no_sample(client, carla, name):
    """A sample leaves the shop, and no form of the admin brings it back."""
    University.objects.create(name="Universidad de Prueba", acronym="Universidad de Prueba"[:20])
    text = f"universidad_siglas;universidad;ejemplo\n{name[:20]};{name};"

    refused = client.post(IMPORT, file(text + "sí"))

    assert "dejaría de venderse" in refused.text
    assert not University.objects.filter(is_sample=True).exists()
    University.objects.update(is_sample=True)
    imported(client, file(text + "no"))
    assert not University.objects.filter(name=name, is_sample=True).exists()


def exempt():
    return file(write_catalogue("c.csv").decode().replace("21 %", "exenta"))


def test_import_that_changes_vat_names_the_rows_asks_for_the_password_and_is_logged(client, carla):
    carla.user_permissions.add(Permission.objects.get(codename="change_vat"))
    subject = make_subject(lessons=1)
    make_subject("Cálculo", lessons=1)
    shown = client.post(IMPORT, exempt(), follow=True)
    assert "El IVA cambia en 2 asignaturas" in shown.text
    line = f"{subject.name}: 21 % → Exenta (enseñanza)"
    assert line in shown.context["vat_changes"][0]

    page, answer = shown.request["PATH_INFO"], {"fingerprint": fingerprint(shown)}
    forget_password(client)
    asked = Client.post(client, page, answer)
    assert asked["Location"].startswith("/admin/clave")
    run_worker()
    assert set(Subject.objects.values_list("vat", flat=True)) == {"general"}

    confirm_password(client)
    client.post(page, answer)
    assert set(Subject.objects.values_list("vat", flat=True)) == {"exempt"}
    logged = StaffAction.objects.get(text__startswith="IVA cambiado por una importación")
    assert line in logged.text
    assert logged.text.count("→") == 2


def test_import_that_changes_vat_is_refused_without_its_permission(client, carla, tmp_path):
    make_subject(lessons=1)
    refused = client.post(IMPORT, exempt(), follow=True)
    assert "tu cuenta no puede cambiarlo" in refused.text
    new = write_catalogue("c.csv").decode().replace("Microeconomía", "Nueva")
    assert "1 por añadir" in client.post(IMPORT, file(new), follow=True).text
    unusual = file(new.replace("21 %", "4 %"))
    assert "tu cuenta no puede cambiarlo" in client.post(IMPORT, unusual, follow=True).text

    path = tmp_path / "c.csv"
    path.write_bytes(exempt()["file"].read())
    with pytest.raises(CommandError, match="tu cuenta no puede cambiarlo"):
        call_command("import_catalogue", path, user="carla")
    assert set(Subject.objects.values_list("vat", flat=True)) == {"general"}


def test_import_adds_a_subject_with_the_vat_of_its_degree_without_the_permission(client, carla):
    make_subject(lessons=1)
    Subject.objects.update(vat="exempt")
    stored = write_catalogue("c.csv").decode()
    new = stored.replace("Microeconomía", "Nueva")
    shown = client.post(IMPORT, file(new), follow=True)
    assert "1 por añadir" in shown.text
    confirm_password(client)
    client.post(shown.request["PATH_INFO"], {"fingerprint": fingerprint(shown)})
    run_worker()
    assert Subject.objects.get(name="Nueva").vat == "exempt"

    other = stored.replace("Microeconomía", "Otra").replace("Exenta (enseñanza)", "4 %")
    refused = client.post(IMPORT, file(other), follow=True).text
    assert "tu cuenta no puede cambiarlo" in refused
    assert "Quita la columna" not in refused


@pytest.mark.parametrize("price", ["0,00", "95,99", "288,01"])
def test_import_of_a_surprising_price_asks_for_a_confirmation(client, carla, price):
    get_user_model().objects.filter(pk=carla.pk).update(is_superuser=True)
    subject = make_subject(price="192.00", lessons=1)
    data = write_catalogue("c.csv").decode().replace("192,00", price)

    shown = client.post(IMPORT, file(data), follow=True)
    page, answer = shown.request["PATH_INFO"], {"fingerprint": fingerprint(shown)}
    assert shown.context["confirm_count"] == 1
    assert f"192,00 → {price}" in shown.context["to_confirm"][0]

    refused = client.post(page, answer, follow=True).content.decode()
    assert "confirma los precios" in refused
    subject.refresh_from_db()
    assert subject.final_price == 192

    client.post(page, {**answer, "confirmed": "1"})
    subject.refresh_from_db()
    assert subject.final_price == Decimal(price.replace(",", "."))


def test_import_command_refuses_a_surprising_price_without_its_option(tmp_path):
    subject = make_subject(price="192.00", lessons=1)
    path = tmp_path / "c.csv"
    path.write_bytes(write_catalogue("c.csv").replace(b"192,00", b"0,00"))

    with pytest.raises(CommandError, match="--confirm-prices"):
        call_command("import_catalogue", path)
    subject.refresh_from_db()
    assert subject.final_price == 192

    call_command("import_catalogue", path, confirm_prices=True)
    subject.refresh_from_db()
    assert subject.final_price == 0


def test_import_is_undone_if_its_history_entry_is_not_written(client, carla, monkeypatch):
    """A process that is killed between the two leaves neither."""
    make_subject(price="192.00", lessons=1)
    shown = client.post(IMPORT, dearer(), follow=True)
    page, sent = shown.request["PATH_INFO"], {"fingerprint": fingerprint(shown)}

    with monkeypatch.context() as broken:
        broken.setattr(LogEntry.objects, "create", Mock(side_effect=KeyboardInterrupt))
        Client.post(client, page, sent)
        with pytest.raises(KeyboardInterrupt):
            import_upload.call(upload_id=CatalogueUpload.objects.get().pk, is_confirmed=False)

    assert (Subject.objects.get().final_price, LogEntry.objects.count()) == (192, 0)
    # A second press after the worker was killed, and the task of the first one after all.
    client.post(page, sent)
    assert (Subject.objects.get().final_price, LogEntry.objects.count()) == (201, 2)


def test_file_with_errors_lists_them_and_is_not_kept(client, carla):
    page = client.post(IMPORT, file("universidad_siglas;precio\nU;diez\n"))

    assert "Línea 2, columna «precio»: «diez» no es un precio." in page.text
    assert "No se ha cambiado nada." in page.text
    assert f'action="{IMPORT}"' in page.text
    assert bytes(CatalogueUpload.objects.get().content) == b""
    assert not University.objects.exists()


def test_catalogue_change_after_the_preview_requires_a_new_preview(client, carla):
    subject = make_subject(price="192.00", lessons=1)
    shown = client.post(IMPORT, dearer(), follow=True)
    subject.final_price = Decimal("195.00")
    subject.save()

    again = client.post(
        shown.request["PATH_INFO"], {"fingerprint": fingerprint(shown)}, follow=True
    )

    assert "El catálogo ha cambiado entretanto." in again.text
    assert "precio: 195,00 → 201,00" in again.text
    assert Subject.objects.get().final_price == 195
    client.post(shown.request["PATH_INFO"])  # without a preview
    assert Subject.objects.get().final_price == 195


def test_preview_without_changes_has_no_button(client, carla):
    make_subject()

    shown = client.post(IMPORT, file(), follow=True)

    assert "Este archivo no cambia nada." in shown.text
    assert "Hacer estos cambios" not in shown.text


def test_too_large_upload_is_refused(client, carla, monkeypatch):
    monkeypatch.setattr(views, "MOST_UPLOADED_BYTES", 10)

    assert "El archivo es demasiado grande" in client.post(IMPORT, file()).text
    assert not CatalogueUpload.objects.exists()


@pytest.mark.parametrize("actions", [(), ("view",), ("view", "change"), ("add",)])
def test_import_needs_add_and_change_permissions_for_all_models(client, actions):
    client.force_login(staff("bruno", *actions))

    assert client.get(IMPORT).status_code == 403
    assert client.post(IMPORT, file()).status_code == 403
    assert not CatalogueUpload.objects.exists()
    listed = client.get(LIST)
    assert IMPORT not in listed.text


def test_export_needs_its_own_permission_and_is_logged(client):
    bruno = staff("bruno", "view")
    client.force_login(bruno)
    assert f"{LIST}exportar/csv/" not in client.get(LIST).text
    assert client.get(f"{LIST}exportar/csv/").status_code == 403
    assert Client().get(f"{LIST}exportar/csv/").status_code == 302
    assert not LogEntry.objects.exists()

    bruno.user_permissions.add(Permission.objects.get(codename="export_catalogue"))
    assert f"{LIST}exportar/csv/" in client.get(LIST).text
    assert client.get(f"{LIST}exportar/csv/").status_code == 200
    entry = LogEntry.objects.get()
    assert entry.user == bruno
    assert "Exportación del catálogo" in entry.change_message


def test_upload_of_another_user_can_not_be_opened(client, carla):
    make_subject()
    shown = client.post(IMPORT, dearer(), follow=True)
    other = Client()
    other.force_login(staff("dora", superuser=True))

    assert other.get(shown.request["PATH_INFO"]).status_code == 404
    answer = other.post(shown.request["PATH_INFO"], {"fingerprint": fingerprint(shown)})
    assert answer.status_code == 404
    assert Subject.objects.get().final_price == 192


def test_import_forms_require_a_csrf_token(carla):
    careful = Client(enforce_csrf_checks=True)
    careful.force_login(carla)

    assert careful.post(IMPORT, file()).status_code == 403
    assert not CatalogueUpload.objects.exists()


def test_unconfirmed_uploads_are_deleted_after_a_day(client, carla):
    make_subject()
    client.post(IMPORT, dearer())
    with time_machine.travel(timezone.now() + timedelta(days=1, hours=1)):
        client.force_login(staff("dora", "view", "add", "change"))
        client.post(IMPORT, dearer())

    assert CatalogueUpload.objects.get().uploaded_by.username == "dora"


def test_upload_replaces_those_of_the_same_account_that_wait(client, carla):
    make_subject()
    dora = staff("dora")
    for state in ("reading", "read", "refused", "importing", "imported"):
        for user in (carla, dora):
            CatalogueUpload.objects.create(
                uploaded_by=user, name=state, content=b"x", state=state, result={"summary": []}
            )
    assert "este lo sustituye" in client.get(IMPORT).text

    client.post(IMPORT, dearer())

    stored = CatalogueUpload.objects.filter(uploaded_by=carla).order_by("pk")
    assert [row.name for row in stored] == ["importing", "imported", "c.csv"]
    assert CatalogueUpload.objects.filter(uploaded_by=dora).count() == 5


def test_upload_that_is_replaced_while_it_is_read_is_no_failure(carla, monkeypatch):
    make_subject()
    upload = CatalogueUpload.objects.create(
        uploaded_by=carla, name="c.csv", content=write_catalogue("c.csv")
    )

    def replaced_meanwhile(*arguments):
        uploads.store_upload(by=carla, name="d.csv", content=write_catalogue("c.csv"))
        return diff_catalogue(*arguments)

    with monkeypatch.context() as late:
        late.setattr(uploads, "diff_catalogue", replaced_meanwhile)
        read_upload.call(upload_id=upload.pk)

    assert CatalogueUpload.objects.get().name == "d.csv"


@pytest.mark.parametrize("ending", ["csv", "xlsx", "json"])
def test_admin_downloads_the_catalogue(client, carla, ending):
    make_subject()

    answer = client.get(f"{LIST}exportar/{ending}/")

    assert answer.status_code == 200
    assert "no-store" in answer.headers["Cache-Control"]
    assert f".{ending}" in answer.headers["Content-Disposition"]
    shown = client.post(
        IMPORT, {"file": SimpleUploadedFile(f"c.{ending}", answer.content)}, follow=True
    )
    assert "Este archivo no cambia nada." in shown.text


def test_export_refuses_another_suffix(client, carla):
    answer = client.get(f"{LIST}exportar/pdf/", follow=True)

    assert answer.request["PATH_INFO"] == LIST
    assert "El archivo debe ser .csv, .xlsx o .json." in answer.text


def test_logo_is_exported_as_its_address_and_ignored_by_an_import(client, carla):
    university = make_university(acronym="UNA", logo="universidades/una.webp")
    text = write_catalogue("c.csv").decode()
    assert "/imagenes/universidades/una.webp" in text

    shown = client.post(IMPORT, file(text.replace("una.webp", "otra.webp")), follow=True)
    assert "La columna «universidad_logo» no se importa" in shown.text
    assert "Este archivo no cambia nada." in shown.text
    university.refresh_from_db()
    assert university.logo.name == "universidades/una.webp"


def test_uploaded_file_is_read_by_no_web_process(client, carla, monkeypatch):
    """A file of six million texts is a bad file for the worker, and nothing for the page."""
    make_subject()
    monkeypatch.setattr(uploads, "read_lines", Mock(side_effect=AssertionError("read by the web")))
    answer = Client.post(client, IMPORT, dearer())

    page = client.get(answer.url)
    assert "Leyendo «c.csv»" in page.text
    assert 'http-equiv="refresh"' in page.text
    CatalogueUpload.objects.update(progress=40)
    assert 'value="40"' in client.get(answer.url).text


def test_worker_stores_how_much_it_has_read(carla, monkeypatch):
    monkeypatch.setattr(uploads, "PROGRESS_EVERY_S", 0)
    make_subject()
    upload = CatalogueUpload.objects.create(
        uploaded_by=carla, name="c.xlsx", content=write_catalogue("c.xlsx")
    )
    seen = []

    def compare(*arguments):
        seen.append(CatalogueUpload.objects.get().progress)
        return diff_catalogue(*arguments)

    monkeypatch.setattr(uploads, "diff_catalogue", compare)
    read_upload.call(upload_id=upload.pk)

    upload.refresh_from_db()
    assert 50 < seen[0] <= 100
    assert (upload.state, upload.result["is_empty"]) == ("read", True)


def test_import_that_is_late_can_be_started_again(client, carla):
    make_subject(price="192.00", lessons=1)
    shown = client.post(IMPORT, dearer())
    page, sent = shown.request["PATH_INFO"], {"fingerprint": fingerprint(shown)}
    Client.post(client, page, sent)
    assert "Volver a intentarlo" not in client.get(page).text
    CatalogueUpload.objects.update(uploaded_at=timezone.now() - timedelta(minutes=6))

    assert "Volver a intentarlo" in client.get(page).text
    assert "Importado: c.csv" in client.post(page, sent).text
    assert LogEntry.objects.filter(change_message__startswith="Importación").count() == 1


@pytest.mark.parametrize("failing", ["check_lowered", "import_lines"])
def test_failure_of_the_shop_ends_an_upload_with_a_sentence(client, carla, monkeypatch, failing):
    """Or its page would say for ever that the file is being read or imported."""
    make_subject(price="192.00", lessons=1)
    with monkeypatch.context() as broken:
        broken.setattr(uploads, failing, Mock(side_effect=LookupError))
        shown = client.post(IMPORT, dearer(), follow=True)
        page = shown.request["PATH_INFO"]
        if failing == "import_lines":
            client.post(page, {"fingerprint": fingerprint(shown)})
    answer = client.get(page)
    assert "Ha fallado la web, no tu archivo, y no se ha importado nada." in answer.text
    assert f'action="{IMPORT}"' in answer.text
    assert Subject.objects.get().final_price == 192


def test_template_is_an_empty_file_that_explains_each_column(client, carla):
    answer = client.get(f"{IMPORT}plantilla/")
    book = load_workbook(io.BytesIO(answer.content))
    catalogue, columns = (list(book[title].values) for title in ("Catálogo", "Columnas"))
    titles = [column.name for column in COLUMNS if not column.read_only]
    assert catalogue == [tuple(titles)]
    assert [row[0] for row in columns[1:]] == titles
    vat = next(row for row in columns if row[0] == "iva")
    assert "21 % / 10 % / 4 % / Exenta (enseñanza)" in vat


def test_template_needs_the_permissions_of_an_import(client):
    client.force_login(staff("celia", "view", "add"))
    assert client.get(f"{IMPORT}plantilla/").status_code == 403


def test_preview_asks_about_mistyped_names_and_imports_them_all_the_same(client, carla):
    make_subject("Microeconomía")
    mistyped = write_catalogue("c.csv").decode().replace("Microeconomía", "Microecomomía")
    shown = client.post(IMPORT, file(mistyped), follow=True)
    assert "¿querías decir «Microeconomía»?" in shown.text
    client.post(shown.request["PATH_INFO"], {"fingerprint": fingerprint(shown)}, follow=True)
    assert Subject.objects.count() == 2


@pytest.mark.parametrize(
    ("head", "row", "level"),
    [
        ("universidad_siglas;universidad", "U{n};Universidad {n}", "universidades"),
        ("universidad_siglas;grado", "{university};Grado {n}", "grados"),
        (
            "universidad_siglas;grado;asignatura;leccion;leccion_precio",
            "{university};{degree};{subject};Lección {n};55",
            "lecciones",
        ),
    ],
)
def test_file_that_would_overfill_a_page_is_refused(client, carla, monkeypatch, head, row, level):
    """Each view of the page would show all of them."""
    subject = make_subject(lessons=1)
    degree = subject.degree
    names = {
        "university": degree.university.acronym,
        "degree": degree.name,
        "subject": subject.name,
    }
    monkeypatch.setattr(diff, "MOST_BELOW", dict.fromkeys(diff.MOST_BELOW, 3))

    def send(count):
        rows = "".join(f"{row.format(n=n, **names)}\n" for n in range(count))
        return client.post(IMPORT, file(f"{head}\n{rows}"), follow=True).text

    assert f"en el nivel «{level}»: caben 3" in send(3)
    assert "caben" not in send(2)


@pytest.mark.parametrize(
    ("model", "plural"), [(Degree, "grados"), (Subject, "asignaturas"), (Lesson, "lecciones")]
)
def test_file_that_would_lead_to_too_many_rows_in_all_is_refused(
    client, carla, monkeypatch, model, plural
):
    """Pages, sitemap and campaigns name all degrees, and backups and exports hold all rows."""
    make_subject(lessons=1)
    monkeypatch.setitem(diff.MOST_IN_ALL, model, 3)

    def send(count):
        rows = "".join(f"NU{n};Nueva {n};Grado {n};Una;10;PEC;5\n" for n in range(count))
        head = "universidad_siglas;universidad;grado;asignatura;precio;leccion;leccion_precio"
        return client.post(IMPORT, file(f"{head}\n{rows}"), follow=True).text

    assert f"habría 4 {plural}: caben 3" in send(3)
    assert "caben" not in send(2)


def test_file_that_adds_too_much_text_is_refused(client, carla, monkeypatch):
    """An .xlsx file of two megabytes named one long text in 40,000 rows."""
    monkeypatch.setattr(uploads, "MOST_ADDED", 600)
    head = "universidad_siglas;universidad;grado;asignatura;precio;que_cubren_las_pecs"

    def send(count):
        rows = "".join(f"NU;Nueva;Grado;Una {n};90;{'x' * 200}\n" for n in range(count))
        return client.post(IMPORT, file(f"{head}\n{rows}"), follow=True).text

    assert "añade demasiado texto" in send(3)
    assert "demasiado texto" not in send(2)


def test_workbook_of_a_large_catalogue_is_refused_before_it_is_written(client, carla, monkeypatch):
    """An .xlsx file of 80,000 lessons holds a web process for a minute."""
    make_subject(lessons=3)
    monkeypatch.setattr(views, "MOST_IN_WORKBOOK", 2)
    monkeypatch.setattr(views, "write_catalogue", Mock(wraps=write_catalogue))
    confirm_password(client)
    assert "Descárgalo como CSV" in client.get(f"{LIST}exportar/xlsx/", follow=True).text
    assert not views.write_catalogue.called
    assert client.get(f"{LIST}exportar/csv/").status_code == 200


@pytest.mark.parametrize("ending", ["csv", "json", "xlsx"])
def test_download_of_very_long_texts_is_refused(client, carla, monkeypatch, ending):
    """A download is made in memory, and each lesson repeats the texts of its subject."""
    subject = make_subject(lessons=3)
    Subject.objects.filter(pk=subject.pk).update(pecs_content="x" * 500)
    monkeypatch.setattr(views, "MOST_LETTERS", 1_500)
    confirm_password(client)
    address = f"{LIST}exportar/{ending}/"
    assert "demasiado grande para descargarlo" in client.get(address, follow=True).text
    subject.lessons.last().delete()
    assert client.get(address).status_code == 200
    # The command has no such bound.
    assert b"x" * 500 in write_catalogue("c.json")


def test_refused_download_reads_no_further_texts(client, monkeypatch):
    """A download read all texts first: 1.5 GB of 200,000 lessons."""
    make_subject(lessons=5)
    monkeypatch.setattr(writing, "LINES_AT_ONCE", 1)
    read = Mock(wraps=writing._subject_cells)
    monkeypatch.setattr(writing, "_subject_cells", read)
    with pytest.raises(BadFile):
        write_catalogue("c.csv", most_letters=1)
    assert read.call_count == 1

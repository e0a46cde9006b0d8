"""Each wrong setting is one Spanish sentence, and nothing starts with it."""

import os
import re
from pathlib import Path

import pytest
from django.core.checks import run_checks
from django.test import Client

from apps.classroom import checks as classroom_checks
from apps.core import setting_ranges
from apps.core.checks import START
from apps.payments import checks as payment_checks
from tests.test_start import DEPLOYMENT, MISSING_STRIPE_KEYS, ROOT, gunicorn, run
from tools.dev.stack import documented_settings

RANGES = {**setting_ranges.RANGES, **classroom_checks.RANGES, **payment_checks.RANGES}
POSTGRES = "django.db.backends.postgresql"
SQLITE = "django.db.backends.sqlite3"
GOOD = {
    "DEBUG": False,
    "SECRET_KEY": DEPLOYMENT["SECRET_KEY"],
    "SECRET_KEY_FALLBACKS": [],
    "ALLOWED_HOSTS": ["shop.test"],
    "SITE_URL": "https://shop.test",
    "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
    "DEFAULT_FROM_EMAIL": DEPLOYMENT["DEFAULT_FROM_EMAIL"],
    "STAFF_EMAIL": DEPLOYMENT["STAFF_EMAIL"],
    "STRIPE_SANDBOX": False,
    "STRIPE_API_BASE": "",
    "STRIPE_SECRET_KEY": "sk_live_1",
    "STRIPE_PUBLISHABLE_KEY": "pk_live_1",
    "STRIPE_WEBHOOK_SECRET": "whsec_1",
    "RATE_LIMIT_SCALE": 1.0,
    "CLASSROOM": "local",
    "ALLOW_TEST_KEYS": False,
    "ALLOW_LOCAL_SITE": False,
    "BACKUP_RECIPIENT": DEPLOYMENT["BACKUP_RECIPIENT"],
    "BACKUP_MAX_AGE_HOURS": 26,
}
PK = "STRIPE_PUBLISHABLE_KEY debe empezar por pk_: se entrega a los visitantes."
SITE = "SITE_URL debe ser una dirección como https://midominio.es, sin nada detrás."
IN_MOODLE = {
    "CLASSROOM": "moodle",
    "MOODLE_URL": "https://aula.test",
    "MOODLE_TOKEN": "x",
    "PORTAL_URL": "https://aula.test/my/",
    "PORTAL_PROFILE_URL": "https://aula.test/user/profile.php",
}
PORTAL = "PORTAL_URL debe ser una dirección como https://aula.midominio.es, o /aula en este sitio."
TEST = {
    "STRIPE_SECRET_KEY": "sk_test_1",
    "STRIPE_PUBLISHABLE_KEY": "pk_test_1",
    "ALLOW_TEST_KEYS": True,
}
SAMPLE = dict(
    line.split("=", 1)
    for line in Path(ROOT, "deploy/compose.env.example").read_text().splitlines()
    if not line.startswith("#")
)
PUBLISHED = "SECRET_KEY es la del archivo de ejemplo, que está publicada: haz una propia."
RECIPIENT = "BACKUP_RECIPIENT no es una clave pública: cópiala entera, como age1… o ssh-…"
IBAN = "TRANSFER_IBAN no es un IBAN correcto: revisa sus cifras."
REFUSED = [
    ({"SECRET_KEY": SAMPLE["SECRET_KEY"]}, PUBLISHED),
    ({"SECRET_KEY_FALLBACKS": [SAMPLE["SECRET_KEY"]]}, PUBLISHED),
    *(
        ({name: value}, f"{name} no está completa: copia la clave entera del panel de Stripe.")
        for name, value in (
            ("STRIPE_SECRET_KEY", "sk_live_…"),
            ("STRIPE_PUBLISHABLE_KEY", "pk_live_…"),
            ("STRIPE_PUBLISHABLE_KEY", "pk_live_"),
            ("STRIPE_WEBHOOK_SECRET", "whsec_…"),
            ("STRIPE_WEBHOOK_SECRET_FALLBACKS", ["whsec_…"]),
        )
    ),
    (
        {"BACKUP_RECIPIENT": ""},
        "Falta BACKUP_RECIPIENT, la clave pública que cifra las copias de seguridad. Si se hacen "
        "de otro modo, dilo con BACKUP_MAX_AGE_HOURS=0.",
    ),
    *(
        ({"BACKUP_RECIPIENT": text}, RECIPIENT)
        for text in (
            "age1…",
            DEPLOYMENT["BACKUP_RECIPIENT"][:-1],
            DEPLOYMENT["BACKUP_RECIPIENT"].replace("p", "q"),
            DEPLOYMENT["BACKUP_RECIPIENT"].upper().replace("AGE1", "age1"),
            "ssh-ed25519 AAAA…",
            "copias …",
        )
    ),
    (
        {"S3_BUCKET": "fotos", "STORAGES": {"pictures": {"OPTIONS": {"access_key": "AKIA1234"}}}},
        "S3_BUCKET necesita S3_ACCESS_KEY y S3_SECRET_KEY.",
    ),
    *(
        ({"TRANSFER_IBAN": text}, IBAN)
        for text in ("ES91 2100 0418 4502 0005 1333", "ES91", "2100 0418 4502 0005 1332", "…")
    ),
    (
        dict.fromkeys(("STRIPE_SECRET_KEY", "STRIPE_PUBLISHABLE_KEY", "STRIPE_WEBHOOK_SECRET"), ""),
        MISSING_STRIPE_KEYS,
    ),
    ({"STRIPE_PUBLISHABLE_KEY": "sk_live_1"}, PK),
    ({"STRIPE_SECRET_KEY": "pk_live_1"}, "STRIPE_SECRET_KEY debe empezar por sk_ o rk_."),
    ({"STRIPE_WEBHOOK_SECRET": "sk_live_1"}, "STRIPE_WEBHOOK_SECRET debe empezar por whsec_."),
    (
        {**TEST, "STRIPE_PUBLISHABLE_KEY": "pk_live_1"},
        "STRIPE_SECRET_KEY y STRIPE_PUBLISHABLE_KEY no son del mismo modo.",
    ),
    ({"DEBUG": True}, "Las claves reales de Stripe no valen con DEBUG=true."),
    (
        {"engine": SQLITE},
        "SQLite solo vale con DEBUG=true; en producción hace falta PostgreSQL.",
    ),
    (
        {"EMAIL_BACKEND": "apps.core.mail.backends.FileBackend"},
        "Falta un proveedor de correo: EMAIL_URL o ANYMAIL_BACKEND.",
    ),
    *(
        (
            {"EMAIL_BACKEND": f"django.core.mail.backends.{name}.EmailBackend"},
            "Falta un proveedor de correo: EMAIL_URL o ANYMAIL_BACKEND.",
        )
        for name in ("console", "dummy", "filebased", "locmem")
    ),
    (
        {"EMAIL_BACKEND": "anymail.backends.unknown.EmailBackend"},
        "ANYMAIL_BACKEND no es un proveedor de django-anymail.",
    ),
    ({"SITE_URL": "http://shop.test"}, "SITE_URL debe empezar por https://."),
    (
        {"SITE_URL": "https://127.0.0.1:8000", "ALLOWED_HOSTS": ["127.0.0.1"]},
        "SITE_URL apunta a esta máquina; debe ser la dirección pública.",
    ),
    (
        {"SITE_URL": "https://shop.example", "ALLOWED_HOSTS": ["shop.example"]},
        "SITE_URL es una dirección de ejemplo.",
    ),
    (
        {"SITE_URL": "https://shop.example.", "ALLOWED_HOSTS": ["shop.example"]},
        "SITE_URL es una dirección de ejemplo.",
    ),
    ({"SITE_URL": "https://"}, SITE),
    ({"SITE_URL": "https://["}, SITE),
    ({"SITE_URL": "https://shop.test/tienda"}, SITE),
    ({"SITE_URL": "https://otra.test"}, "El dominio de SITE_URL no está en ALLOWED_HOSTS."),
    (
        {"DEFAULT_FROM_EMAIL": "Academia <hola@academia.example>"},
        "DEFAULT_FROM_EMAIL es una dirección de ejemplo.",
    ),
    ({"STAFF_EMAIL": "equipo@academia.example"}, "STAFF_EMAIL es una dirección de ejemplo."),
    ({"STAFF_EMAIL": "equipo"}, "STAFF_EMAIL no es una dirección de correo."),
    ({"ALLOWED_HOSTS": []}, "Falta ALLOWED_HOSTS en el entorno."),
    (
        {"ALLOWED_HOSTS": ["*"]},
        "ALLOWED_HOSTS no puede ser *; pon los dominios que atiende.",
    ),
    ({"CLASSROOM": "canvas"}, "CLASSROOM solo admite local o moodle."),
    ({"MOODLE_GROUP": "{curso}"}, "MOODLE_GROUP solo admite {semester} y {year} entre llaves."),
    ({"MOODLE_GROUP": "{year"}, "MOODLE_GROUP solo admite {semester} y {year} entre llaves."),
    (
        {**IN_MOODLE, "PORTAL_URL": "/aula"},
        "PORTAL_URL no puede ser /aula si el aula es otra web: esa página lleva al aula.",
    ),
    (
        {**IN_MOODLE, "MOODLE_TOKEN": ""},
        "CLASSROOM=moodle necesita MOODLE_URL y MOODLE_TOKEN.",
    ),
    (
        {"SECRET_KEY": "short"},
        "SECRET_KEY debe ser aleatoria y tener al menos 50 caracteres.",
    ),
    (
        {"SECRET_KEY_FALLBACKS": [DEPLOYMENT["SECRET_KEY"], "only-for-development"]},
        "Cada clave de SECRET_KEY_FALLBACKS debe ser aleatoria y tener al menos 50 caracteres.",
    ),
    ({"TRUSTED_PROXIES": -1}, "TRUSTED_PROXIES solo admite de 0 a 10."),
    ({"RATE_LIMIT_SCALE": -1.0}, "RATE_LIMIT_SCALE solo admite de 0.1 a 10."),
    ({"RATE_LIMIT_SCALE": float("nan")}, "RATE_LIMIT_SCALE solo admite de 0.1 a 10."),
    ({"RATE_LIMIT_SCALE": 1000.0}, "RATE_LIMIT_SCALE solo admite de 0.1 a 10."),
    ({"RATE_LIMIT_SCALE": 0.0}, "RATE_LIMIT_SCALE=0 solo vale con DEBUG=true."),
    ({"MONITOR_TOKEN": "x" * 19}, "MONITOR_TOKEN debe tener al menos 20 caracteres al azar."),
    ({"MAILS_PER_RECIPIENT": 3}, "MAILS_PER_RECIPIENT solo admite de 4 a 1000."),
    *(
        ({"PORTAL_URL": text}, PORTAL)
        for text in ("javascript:alert(1)", "//x.test", "", "https://[")
    ),
    ({"PORTAL_URL": "http://aula.test/my/"}, "PORTAL_URL debe empezar por https://."),
    (
        {**IN_MOODLE, "MOODLE_URL": "http://aula.test"},
        "MOODLE_URL debe empezar por https://.",
    ),
]


@pytest.fixture
def problems(settings, monkeypatch):
    def start(*, engine=POSTGRES, **changes):
        for name, value in {**GOOD, **changes}.items():
            setattr(settings, name, value)
        with monkeypatch.context() as patch:
            patch.setitem(settings.DATABASES["default"], "ENGINE", engine)
            return [problem.msg for problem in run_checks(tags=[START])]

    return start


def test_a_real_shop_starts(problems):
    assert problems() == []


@pytest.mark.parametrize(("changes", "sentence"), REFUSED)
def test_each_wrong_setting_is_reported_as_one_sentence(problems, changes, sentence):
    assert problems(**changes) == [sentence]


@pytest.mark.parametrize(
    "changes",
    [
        {"BACKUP_RECIPIENT": "", "BACKUP_MAX_AGE_HOURS": 0},
        {"BACKUP_RECIPIENT": "Copias <copias@shop.test>"},
        {"BACKUP_RECIPIENT": f"ssh-ed25519 {'A' * 68} copias@shop.test"},
        {"TRANSFER_IBAN": "ES91 2100 0418 4502 0005 1332"},
        {"TRANSFER_IBAN": "DE89370400440532013000"},
        # The sample of containers is a rehearsal.
        {"SECRET_KEY": SAMPLE["SECRET_KEY"], "BACKUP_RECIPIENT": "", "ALLOW_LOCAL_SITE": True},
    ],
)
def test_settings_that_resemble_wrong_ones_are_accepted(problems, changes):
    assert problems(**changes) == []


def test_misspelt_names_are_reported_with_the_right_ones(problems, monkeypatch):
    for name in ("STRIPE_WEBHOK_SECRET", "ALLOWED_HOST", "TRUSTED_PROXYS", "S3_ACCES_KEY"):
        monkeypatch.setenv(name, "1")
    # Names of other programs, and of a provider of mails.
    for name in ("PGHOST", "PORTS_OPEN", "SENTRY_RELEASE", "BREVO_API_KEY", "WEB_CONCURRENCY"):
        monkeypatch.setenv(name, "1")

    assert problems() == [
        f"{wrong} no es un ajuste: ¿querías decir {right}?"
        for wrong, right in (
            ("ALLOWED_HOST", "ALLOWED_HOSTS"),
            ("S3_ACCES_KEY", "S3_ACCESS_KEY"),
            ("STRIPE_WEBHOK_SECRET", "STRIPE_WEBHOOK_SECRET"),
            ("TRUSTED_PROXYS", "TRUSTED_PROXIES"),
        )
    ]


def test_no_setting_counts_as_a_slip_of_another(problems, monkeypatch):
    for name in documented_settings():
        monkeypatch.setenv(name, "1")

    assert problems() == []


def test_misspelt_name_in_the_file_of_settings_is_found(tmp_path):
    file = tmp_path / "env"
    file.write_text("DEFAULT_FORM_EMAIL=hola@shop.test\n")

    done = run(ROOT, "manage.py", "check", **{**_deployment(), "ENV_FILE": str(file)})

    assert done.returncode == 1
    assert "¿querías decir DEFAULT_FROM_EMAIL?" in done.stderr


def test_every_number_outside_its_range_is_reported(problems):
    below = {name: lowest - 1 for name, (lowest, _) in RANGES.items()}
    above = {name: highest + 1 for name, (_, highest) in RANGES.items()}
    limits = [f"{name} solo admite de {low} a {high}." for name, (low, high) in RANGES.items()]

    assert sorted(problems(**below)) == sorted(problems(**above)) == sorted(limits)
    assert problems(**{name: lowest for name, (lowest, _) in RANGES.items()}) == []
    assert problems(STRIPE_TIMEOUT=float("nan")) == ["STRIPE_TIMEOUT solo admite de 1 a 120."]


def test_every_numeric_setting_has_a_range():
    source = Path(ROOT, "academy", "settings.py").read_text()
    numbers = set(re.findall(r"^([A-Z_]+) = env\.(?:int|float)\(", source, re.MULTILINE))

    # The port is the server's own, the scale may also be 0 (`core.checks`).
    assert numbers - {"PORT", "RATE_LIMIT_SCALE"} == set(RANGES)


def test_rehearsal_starts_with_its_two_settings(problems):
    local = {
        "engine": SQLITE,
        "EMAIL_BACKEND": "apps.core.mail.backends.FileBackend",
        "SITE_URL": "http://127.0.0.1:8000",
        "ALLOW_LOCAL_SITE": True,
    }

    assert problems(**TEST, **local) == []


@pytest.mark.django_db
@pytest.mark.parametrize("path", ["/", "/compra", "/precios", "/aula", "/nothing", "/admin/login/"])
def test_every_page_of_a_rehearsal_has_a_badge(settings, path):
    assert "Ensayo" not in Client().get(path).content.decode()

    settings.ALLOW_TEST_KEYS = True

    assert "Claves de Stripe de prueba" in Client().get(path).content.decode()


def test_web_process_ends_with_the_sentence():
    done = gunicorn(ROOT, **_deployment(STRIPE_PUBLISHABLE_KEY="sk_live_0123456789"))

    assert (done.returncode, done.stderr.splitlines()) == (3, [f"No se puede arrancar: {PK}"])


def test_worker_and_migration_end_with_the_sentence():
    env = _deployment(STRIPE_PUBLISHABLE_KEY="sk_live_0123456789")
    for command in ("clock", "migrate"):
        done = run(ROOT, "manage.py", command, **env)
        assert done.returncode == 1
        assert PK in done.stderr


def test_setting_that_cannot_be_read_is_one_sentence():
    done = run(ROOT, "manage.py", "check", **_deployment(RATE_LIMIT_SCALE="mucho"))

    sentence = "RATE_LIMIT_SCALE tiene un valor que no se entiende."
    assert (done.returncode, done.stderr.splitlines()) == (1, [sentence])


@pytest.mark.parametrize(("name", "value"), [("DATABASE_URL", "nada"), ("EMAIL_URL", "nada")])
def test_address_that_cannot_be_read_is_one_sentence(name, value):
    done = run(ROOT, "manage.py", "check", **_deployment(**{name: value}))

    sentence = f"{name} tiene un valor que no se entiende."
    assert (done.returncode, done.stderr.splitlines()) == (1, [sentence])


def test_deployment_check_has_no_warning():
    done = run(ROOT, "manage.py", "check", "--deploy", "--fail-level", "WARNING", **_deployment())

    assert (done.returncode, done.stderr) == (0, "")


def _deployment(**changes):
    return {"ENV_FILE": os.devnull, **DEPLOYMENT, **changes}

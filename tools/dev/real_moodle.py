"""A real Moodle for `make test-moodle`, from a folder with Moodle's code.

It needs PHP with Moodle's extensions. PostgreSQL is that of the tests. Moodle listens on 127.0.0.1
with PHP's own server, and trusts the certificate of the tests' shop, which is served over https
because Moodle accepts no other provider.
"""

import datetime
import ipaddress
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.contract.admin_functions import ADMIN_FUNCTIONS
from tools.dev.postgres import _SETTINGS, NewServer
from tools.dev.processes import ROOT, SetupError, end, free_port, start

HOST = "127.0.0.1"
ADMIN_PASSWORD = "De-antes-2026"  # noqa: S105  # of a Moodle that lives as long as the tests
_PHP = ("php", "-d", "max_input_vars=5000", "-d", "memory_limit=512M")
# `TEST_MOODLE_…` stand in the environment of each of its processes.
_CONFIG = """<?php
// A Moodle for tests, which tools/dev/real_moodle.py starts.
unset($CFG);
global $CFG;
$CFG = new stdClass();
$CFG->dbtype = 'pgsql';
$CFG->dblibrary = 'native';
$CFG->dbhost = 'localhost';
$CFG->dbname = 'postgres';
$CFG->dbuser = 'postgres';
$CFG->dbpass = '';
$CFG->prefix = 'mdl_';
$CFG->dboptions = ['dbsocket' => getenv('TEST_MOODLE_SOCKET')];
$CFG->wwwroot = getenv('TEST_MOODLE_URL');
$CFG->dataroot = getenv('TEST_MOODLE_DATA');
$CFG->admin = 'admin';
$CFG->directorypermissions = 02777;
// The shop of the tests is on this machine, at any port.
$CFG->curlsecurityblockedhosts = '';
$CFG->curlsecurityallowedport = '';
$CFG->noemailever = true;
require_once(__DIR__ . '/lib/setup.php');
"""


@dataclass(frozen=True)
class RealMoodle:
    """A running Moodle, and the shop that it lets sign in its students.

    `folder` has the shop's certificate and key (shop.crt, shop.key). `release` is such as "4.5.6".
    """

    url: str
    token: str
    admin_token: str
    release: str
    folder: Path
    shop_port: int
    client_secret: str

    def settings(self) -> dict[str, str]:
        """The environment of the tests."""
        return {
            "MOODLE_TEST_URL": self.url,
            "MOODLE_TEST_TOKEN": self.token,
            "MOODLE_TEST_ADMIN_TOKEN": self.admin_token,
            "MOODLE_TEST_SHOP": f"{self.folder}:{self.shop_port}:{self.client_secret}",
        }


@contextmanager
def real_moodle(source: Path) -> Iterator[RealMoodle]:
    """Install and run the Moodle in `source`, a folder without a config.php of anybody else's.

    The installation takes a few minutes. Everything but the code is removed afterwards.
    """
    _check(source)
    (source / "config.php").write_text(_CONFIG, encoding="utf-8")
    folder = Path(tempfile.mkdtemp(prefix="academy-moodle-"))
    postgres = NewServer(settings=_SETTINGS)
    processes = []
    try:
        postgres.start()
        port, shop_port = free_port(), free_port()
        data = folder / "data"
        data.mkdir()
        make_certificate(folder)
        # Moodle trusts the authorities of this file instead of the system's.
        shutil.copy(folder / "shop.crt", data / "moodleorgca.crt")
        env = {
            **os.environ,
            "TEST_MOODLE_SOCKET": postgres.socket,
            "TEST_MOODLE_URL": f"http://{HOST}:{port}",
            "TEST_MOODLE_DATA": str(data),
            "PHP_CLI_SERVER_WORKERS": "4",
        }
        print("Instalando Moodle…", flush=True)
        _php(source, env, "admin/cli/install_database.php", *_INSTALL)
        printed = _php(source, env, str(_script(folder, shop_port)))
        found = dict(re.findall(r"^([A-Z_]+)=(.+)$", printed, re.MULTILINE))
        tool = str(ROOT / "tools" / "dev" / "real_moodle.php")
        admin_token = _php(source, env, tool, *ADMIN_FUNCTIONS).strip()
        with (folder / "php.log").open("wb") as log:
            serve = [*_PHP, "-d", "opcache.enable_cli=1", "-S", f"{HOST}:{port}", "-t", str(source)]
            processes.append(start(serve, env, log, folder=source))
        _wait_for(env["TEST_MOODLE_URL"])
        yield RealMoodle(
            url=env["TEST_MOODLE_URL"],
            token=found["MOODLE_TOKEN"],
            admin_token=admin_token,
            release=_release(source),
            folder=folder,
            shop_port=shop_port,
            client_secret=found["OIDC_CLIENT_SECRET"],
        )
    finally:
        end(*processes)
        postgres.remove()
        (source / "config.php").unlink()
        shutil.rmtree(folder, ignore_errors=True)


_INSTALL = (
    "--agree-license",
    f"--adminpass={ADMIN_PASSWORD}",
    "--adminemail=admin@moodle.example",
    "--fullname=Aula de pruebas",
    "--shortname=aula",
)


def _check(source: Path) -> None:
    if shutil.which("php") is None:
        raise SetupError("Falta PHP con las extensiones que pide Moodle.")
    if not (source / "version.php").is_file():
        raise SetupError(f"En {source} no está el código de Moodle.")
    config = source / "config.php"
    if config.exists() and config.read_text(encoding="utf-8") != _CONFIG:
        raise SetupError(f"{config} es de otro Moodle: las pruebas necesitan una copia sin él.")


def _release(source: Path) -> str:
    text = (source / "version.php").read_text(encoding="utf-8")
    found = re.search(r"\$release\s*=\s*'([\d.]+\S*)", text)
    return found[1] if found else ""


def _php(source: Path, env: dict[str, str], *arguments: str) -> str:
    """Run a script in Moodle's folder and return what it prints."""
    done = subprocess.run(
        [*_PHP, *arguments],
        cwd=source,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SetupError(f"{arguments[0]}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def _script(folder: Path, shop_port: int) -> Path:
    """The script of `check_moodle --create-role --sign-in`, as the tests' shop writes it."""
    env = {
        **os.environ,
        "DEBUG": "true",
        "ENV_FILE": os.devnull,
        "VAR_DIR": str(folder / "var"),
        "DATABASE_URL": f"sqlite:///{folder}/shop.sqlite3",
        "SITE_URL": f"https://{HOST}:{shop_port}",
        "MOODLE_GROUP": "{semester} {year}",
        "DJANGO_SETTINGS_MODULE": "academy.settings",
    }
    manage = [sys.executable, "manage.py"]
    subprocess.run([*manage, "migrate", "--verbosity=0"], cwd=ROOT, env=env, check=True)
    # The rights and functions of everything that can be switched on.
    switch_on = (
        "from apps.core.models import SiteSettings as S; s = S.current(); "
        "s.classroom_progress = True; s.save()"
    )
    subprocess.run([*manage, "shell", "-c", switch_on], cwd=ROOT, env=env, check=True)
    script = [*manage, "check_moodle", "--create-role", "--sign-in"]
    written = subprocess.run(script, cwd=ROOT, env=env, check=True, capture_output=True, text=True)
    path = folder / "academia.php"
    path.write_text(written.stdout, encoding="utf-8")
    return path


def _wait_for(url: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(f"{url}/login/index.php", timeout=60).close()  # noqa: S310
            return
        except (OSError, urllib.error.URLError):
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def make_certificate(folder: Path) -> None:
    """Write shop.crt and shop.key, a self-signed certificate of 127.0.0.1 for a week."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Tienda de pruebas")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=7))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(HOST))]), False
        )
        .sign(key, hashes.SHA256())
    )
    (folder / "shop.crt").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "shop.key").write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )

"""The files of `deploy`, the Dockerfile and compose.yaml fit each other and the Procfile."""

import configparser
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from apps.core.workers.heartbeats import EVERY_S
from tests.helpers.commands import make_certificate
from tools.dev.processes import ROOT
from tools.dev.stack import documented_settings
from tools.drill.proxy import nginx

PROCESSES = dict(re.findall(r"^([\w-]+): (.+)$", (ROOT / "Procfile").read_text(), re.MULTILINE))
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text())
SERVICES = COMPOSE["services"]
SHOP = [name for name, service in SERVICES.items() if service["image"] == "academia"]
UNITS = ROOT / "deploy" / "systemd"
SERVICES_OF_SYSTEMD = sorted(UNITS.glob("*.service"))
# The shell's way to write a default in the Procfile, which systemd does not know.
DEFAULT = re.compile(r"\$\{\w+:-([^}]*)\}")


@pytest.mark.parametrize("process", PROCESSES)
def test_each_process_of_the_procfile_is_a_service_of_compose(process):
    assert SERVICES[process]["command"] == [process]


@pytest.mark.parametrize("name", SERVICES)
def test_services_of_compose_depend_on_services_and_use_declared_volumes(name):
    service = SERVICES[name]
    volumes = [volume.split(":")[0] for volume in service.get("volumes", ())]

    assert set(service.get("depends_on", ())) <= SERVICES.keys()
    assert {each for each in volumes if not each.startswith("./")} <= COMPOSE["volumes"].keys()
    assert all((ROOT / each).exists() for each in volumes if each.startswith("./"))


def test_images_of_others_are_named_by_their_digests():
    """A name alone may lead to another image tomorrow. Renovate raises them."""
    dockerfile = (ROOT / "Dockerfile").read_text()
    images = re.findall(r"^ARG \w+_IMAGE=(.+)$", dockerfile, re.MULTILINE)
    images += [service["image"] for service in SERVICES.values() if service["image"] != "academia"]
    renovate = json.loads((ROOT / "renovate.json").read_text())

    assert len(images) == 5
    assert all(re.fullmatch(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}", image) for image in images)
    assert {"dockerfile", "docker-compose"} <= {*renovate["enabledManagers"]}


@pytest.mark.parametrize("name", SERVICES)
def test_logs_of_each_container_have_a_bound(name):
    assert SERVICES[name]["logging"]["options"].keys() == {"max-size", "max-file"}


def test_nginx_writes_no_log_file_that_strangers_could_fill():
    """Debian's nginx.conf names files, on the disk that PostgreSQL may share."""
    text = (ROOT / "deploy" / "nginx" / "academia.conf").read_text()
    servers = text.split("\nserver {")[1:]
    assert len(servers) == 2
    for server in servers:
        access, error = (
            re.findall(rf"^    {kind}_log (.+);", server, re.M) for kind in ("access", "error")
        )
        assert len(access) == len(error) == 1
        assert access[0] == "off" or access[0].startswith("syslog:")
        assert error[0].startswith("syslog:")


def test_password_of_the_database_has_no_default():
    text = (ROOT / "compose.yaml").read_text()

    assert set(re.findall(r"\$\{\w+[^}]*\}", text)) == {"${POSTGRES_PASSWORD:?is not set}"}


def test_an_upgrade_deletes_the_drop_ins_of_the_release_before():
    """One with another name would stay, and might come after those of the new release."""
    text = (ROOT / "docs" / "operations.md").read_text()
    [deleted] = re.findall(r"^ *# rm -r (/etc/systemd/.+)$", text, re.MULTILINE)

    assert {Path(path).name for path in deleted.split()} == {
        each.name for each in UNITS.glob("*.d")
    }


def test_pgbouncer_keeps_to_transactions_and_to_the_connections_of_postgresql():
    parser = configparser.ConfigParser()
    parser.read(ROOT / "deploy" / "pgbouncer" / "pgbouncer.ini")
    settings = parser["pgbouncer"]
    roles = 2  # docs/deploy.md, "Several web hosts"

    assert settings["pool_mode"] == "transaction"
    assert settings["auth_type"] == "scram-sha-256"
    assert roles * settings.getint("default_pool_size") < 100


@pytest.mark.parametrize("name", [name for name in PROCESSES if name != "release"])
def test_each_process_of_compose_has_a_health_check_and_the_network_of_all(name):
    check = SERVICES[name].get("healthcheck", {"test": ["of the image"]})

    assert check["test"]
    assert "network_mode" not in SERVICES[name]
    assert "\nHEALTHCHECK " in (ROOT / "Dockerfile").read_text()


def test_nginx_of_compose_asks_the_web_process_by_its_name():
    (_, _, command) = SERVICES["proxy"]["command"]
    upstreams = (ROOT / "deploy" / "nginx" / "academia-upstreams.conf").read_text()
    old, new = re.findall(r"sed 's/([^/]+)/([^/]+)/' ", command)[0]

    assert f"server {old} " in upstreams
    assert new.partition(":")[0] in SERVICES
    # nginx looks it up once.
    assert SERVICES["web"]["networks"]["default"]["ipv4_address"]


@pytest.mark.parametrize("name", SHOP)
def test_containers_of_the_shop_are_read_only_and_without_privileges(name):
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_settings_of_compose_are_documented():
    example = (ROOT / "deploy" / "compose.env.example").read_text()
    names = {*re.findall(r"^([A-Z_]+)=", example, re.MULTILINE)}
    names |= {name for service in SHOP for name in SERVICES[service]["environment"]}

    assert names <= {*documented_settings(), "BIND_HOST"}


def test_environment_of_compose_leaves_the_settings_of_its_file_alone():
    example = (ROOT / "deploy" / "compose.env.example").read_text()
    in_file = {*re.findall(r"^([A-Z_]+)=", example, re.MULTILINE)}

    assert "TRUSTED_PROXIES" in in_file
    for service in SHOP:
        assert in_file.isdisjoint(SERVICES[service]["environment"])


def test_dockerfile_copies_what_exists_and_reaches_the_builder():
    copied = [
        source
        for line in (ROOT / "Dockerfile").read_text().splitlines()
        if line.startswith("COPY ") and "--from" not in line
        for source in line.split()[1:-1]
    ]
    let_in = re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)

    assert copied
    assert [source for source in copied if not (ROOT / source).exists()] == []
    assert [source for source in copied if source not in let_in] == []


@pytest.mark.parametrize("process", [name for name in PROCESSES if name != "release"])
def test_units_of_systemd_run_the_commands_of_the_procfile(process):
    unit = (UNITS / f"academia-{process}.service").read_text()

    assert f"\nExecStart=/srv/academia/current/deploy/entrypoint.sh {process}\n" in unit


@pytest.mark.parametrize("process", PROCESSES)
def test_process_runs_in_the_folder_of_its_release_and_not_in_the_link_to_it(process, tmp_path):
    """A process that looked into `current` would load code of the next release."""
    release, current = tmp_path / "releases" / "1.0", tmp_path / "current"
    program = release / "venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$0 in $(pwd)" "$@"\n')
    program.chmod(0o755)
    (release / "deploy").mkdir()
    shutil.copy(ROOT / "Procfile", release)
    shutil.copy(ROOT / "deploy" / "entrypoint.sh", release / "deploy")
    current.symlink_to(release)

    done = subprocess.run(
        [current / "deploy" / "entrypoint.sh", process],
        cwd=current,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=True,
    )

    commands = DEFAULT.sub(r"\1", PROCESSES[process]).split(" && ")
    expected = [f"{program} in {release}{each.removeprefix('python')}" for each in commands]
    assert done.stdout.splitlines() == expected


def test_socket_of_the_web_pages_is_the_address_of_nginx_and_stops_with_the_shop():
    socket = (UNITS / "academia-web.socket").read_text()
    unit = (UNITS / "academia-web.service").read_text()
    upstreams = (ROOT / "deploy" / "nginx" / "academia-upstreams.conf").read_text()
    servers = set(re.findall(r"^    server (\S+?)[ ;]", upstreams, re.MULTILINE))

    assert re.findall(r"^ListenStream=(.+)$", socket, re.MULTILINE) == [*servers]
    assert "Requires=academia-web.socket\n" in unit
    assert "PartOf=academia.target\n" in socket


@pytest.mark.parametrize("process", [name for name in PROCESSES if name not in {"release", "web"}])
def test_systemd_restarts_a_process_whose_heartbeat_stops(process):
    unit = (UNITS / f"academia-{process}.service").read_text()
    seconds = re.search(r"^WatchdogSec=(\d+)$", unit, re.MULTILINE)

    assert "Type=notify\n" in unit
    assert seconds is not None
    # Two heartbeats may get lost.
    assert int(seconds[1]) > 3 * EVERY_S


@pytest.mark.parametrize("name", [f"{path.stem}.service" for path in UNITS.glob("*.timer")])
def test_failure_of_a_timed_service_is_mailed(name):
    unit = (UNITS / name).read_text()
    failure = (UNITS / "academia-failure@.service").read_text()

    assert "OnFailure=academia-failure@%n.service\n" in unit
    assert "manage.py mail_failed_unit %i\n" in failure
    # A failure of the mail itself starts no further one.
    assert "OnFailure" not in failure


def _effective(unit: Path) -> dict[str, str]:
    """The last value of each setting: systemd sorts drop-ins by file name over all folders."""
    parts = unit.stem.removesuffix("@").split("-")
    prefixes = ["-".join(parts[:end]) + "-" for end in range(1, len(parts))]
    drop_ins = [file for each in prefixes for file in (UNITS / f"{each}.service.d").glob("*.conf")]
    files = [unit, *sorted(drop_ins, key=lambda file: file.name)]
    text = "\n".join(file.read_text() for file in files)
    return dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))


@pytest.mark.parametrize("unit", SERVICES_OF_SYSTEMD, ids=lambda path: path.name)
def test_services_of_the_database_run_as_postgres_and_leave_its_shared_memory(unit):
    settings = _effective(unit)

    expected = ("postgres", "no") if "-database-" in unit.name else ("academia", "yes")
    assert (settings["User"], settings["RemoveIPC"]) == expected


def test_an_edit_of_a_unit_comes_after_the_drop_ins_of_the_shop():
    # `systemctl edit` writes override.conf.
    assert all(file.name < "override.conf" for file in UNITS.glob("*.d/*.conf"))


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("unit", SERVICES_OF_SYSTEMD, ids=lambda path: path.name)
def test_systemd_judges_each_service_as_little_exposed(unit):
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=30", "--no-pager", unit],
        capture_output=True,
        text=True,
        check=False,
    )

    # The threshold is in tenths: the status is 1 above 3.0.
    assert "Overall exposure level" in done.stdout, done.stderr
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(nginx() is None, reason="nginx is not installed")
@pytest.mark.parametrize("name", ["academia.conf", "compose.conf"])
def test_nginx_accepts_its_samples(name, tmp_path):
    sample = (ROOT / "deploy" / "nginx" / name).read_text()
    for folder in ("/etc/nginx/academia", "/srv/academia/current/deploy/nginx"):
        sample = sample.replace(folder, str(ROOT / "deploy" / "nginx"))
    upstreams = str(ROOT / "deploy" / "nginx" / "academia-upstreams.conf")
    sample = sample.replace("/tmp/academia-upstreams.conf", upstreams)
    sample = re.sub(r"(?<=proxy_cache_path )\S+", rf"{tmp_path}\g<0>", sample)
    if "ssl_certificate" in sample:
        folder = "/etc/letsencrypt/live/academia.example"
        make_certificate(tmp_path)
        sample = sample.replace(folder, str(tmp_path))
    configuration = tmp_path / "nginx.conf"
    configuration.write_text(
        f"pid {tmp_path}/nginx.pid; events {{}} http {{ {_temporary(tmp_path)}\n{sample} }}"
    )

    done = subprocess.run(
        [nginx(), "-t", "-e", "stderr", "-p", tmp_path, "-c", configuration],
        capture_output=True,
        text=True,
        check=False,
    )

    # Ports below 1024 may be refused to the tests' user; nginx tests them after the syntax.
    assert "syntax is ok" in done.stderr, done.stderr


def test_sample_with_the_certificate_has_safe_settings_of_tls():
    """Left out, nginx and Debian's nginx.conf would allow TLS 1.0 and share one key of tickets."""
    text = (ROOT / "deploy" / "nginx" / "academia.conf").read_text()
    plain, secure = text.split("listen 443", maxsplit=1)
    settings = dict(re.findall(r"^    (ssl_\w+|server_tokens) (.+);$", secure, re.MULTILINE))

    assert settings["ssl_protocols"] == "TLSv1.2 TLSv1.3"
    assert settings["ssl_session_tickets"] == settings["server_tokens"] == "off"
    assert not settings.keys() & {"ssl_stapling", "ssl_ciphers"}
    # Of the site's own name, not of the header Host.
    assert "location / { return 301 https://$server_name$request_uri; }" in plain


@pytest.mark.parametrize("workflow", ["ci.yml", "weekly.yml"])
def test_workflows_look_up_known_vulnerabilities_of_all_pinned_packages(workflow):
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / workflow).read_text())["jobs"]
    makefile = (ROOT / "Makefile").read_text()
    audit = makefile.partition("\naudit:")[2].partition("\n\n")[0]

    assert {"run": "make audit"} in jobs["audit"]["steps"]
    # A package that could not be looked up is a failure.
    assert "--strict" in audit
    for pinned in ("-r requirements.txt", "-r tools/dev/requirements-dev.txt", "npm audit"):
        assert pinned in audit


def _temporary(folder: Path) -> str:
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    return " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)

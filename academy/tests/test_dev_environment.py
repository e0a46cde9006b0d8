"""The environment of `make run`: what the developer says wins, what is missing is made up once."""

import socket
from pathlib import Path

import pytest

from academy.dev.bootstrap import SetupError
from academy.dev.environment import (
    choose_ports,
    free_port,
    local_keys,
    read_env_file,
    shop_environment,
)


def _environment(base: dict[str, str], tmp_path: Path) -> dict[str, str]:
    return shop_environment(base, var_dir=tmp_path, port=8123, sandbox_port=8200)


def test_an_empty_environment_gets_the_local_stripe_and_keys_of_its_own(tmp_path: Path):
    env = _environment({}, tmp_path)

    assert env["DEBUG"] == "true"
    assert env["STRIPE_SANDBOX"] == "1"
    assert env["STRIPE_API_BASE"] == "http://127.0.0.1:8200"
    assert env["SANDBOX_WEBHOOK_URL"] == "http://127.0.0.1:8123/api/stripe/webhook"
    assert env["SITE_URL"] == "http://127.0.0.1:8123"
    assert env["STRIPE_SECRET_KEY"].startswith("sk_test_")
    assert env["STRIPE_PUBLISHABLE_KEY"].startswith("pk_test_")
    assert env["STRIPE_WEBHOOK_SECRET"].startswith("whsec_")


def test_a_secret_key_of_stripe_in_the_environment_means_the_real_stripe(tmp_path: Path):
    env = _environment({"STRIPE_SECRET_KEY": "sk_test_own"}, tmp_path)

    assert env["STRIPE_SANDBOX"] == "0"
    assert env["STRIPE_SECRET_KEY"] == "sk_test_own"
    assert "STRIPE_API_BASE" not in env
    assert "STRIPE_PUBLISHABLE_KEY" not in env


def test_what_the_developer_says_wins(tmp_path: Path):
    said = {
        "DEBUG": "false",
        "SECRET_KEY": "own",
        "SITE_URL": "http://shop.test",
        "BRAND_NAME": "X",
    }

    env = _environment(said, tmp_path)

    assert {name: env[name] for name in said} == said


def test_a_setting_that_is_there_but_empty_counts_as_not_said(tmp_path: Path):
    env = _environment({"SECRET_KEY": "", "STRIPE_SECRET_KEY": ""}, tmp_path)

    assert env["SECRET_KEY"]
    assert env["STRIPE_SECRET_KEY"].startswith("sk_test_")


def test_made_up_keys_stay_and_only_their_owner_can_read_them(tmp_path: Path):
    path = tmp_path / "keys.json"

    keys = local_keys(path)

    assert local_keys(path) == keys
    assert path.stat().st_mode & 0o777 == 0o600
    assert local_keys(tmp_path / "other.json") != keys


def test_the_stand_in_takes_the_port_after_the_sites():
    port = free_port()

    chosen = choose_ports({"PORT": str(port), "SANDBOX_PORT": ""})

    assert chosen[0] == port
    assert chosen[1] != port


def test_the_stand_in_steps_aside_where_the_next_port_is_taken():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1] - 1

        assert choose_ports({"PORT": str(port)})[1] not in {port, port + 1}


@pytest.mark.parametrize("value", ["http", "0", "65536", "-1", "80.5", "８０"])
def test_a_port_that_is_no_port_is_one_sentence(value: str):
    with pytest.raises(SetupError, match=r"PORT debe ser un número de puerto entre 1 y 65535"):
        choose_ports({"PORT": value})


def test_a_taken_port_for_the_stand_in_is_one_sentence():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(
            SetupError, match=rf"^El puerto {port} \(SANDBOX_PORT\) está ocupado\.$"
        ):
            choose_ports({"PORT": str(free_port()), "SANDBOX_PORT": str(port)})


def test_an_env_file_is_read_as_the_settings_read_it(tmp_path: Path):
    path = tmp_path / ".env"
    path.write_text(
        "# a comment\n"
        "PORT=8123\n"
        'export BRAND_NAME="Academia Ñ"\n'
        "SECRET_KEY='a#b'\n"
        "#DEBUG=true\n"
        "EMPTY=\n"
    )

    assert read_env_file(path) == {
        "PORT": "8123",
        "BRAND_NAME": "Academia Ñ",
        "SECRET_KEY": "a#b",
        "EMPTY": "",
    }
    assert read_env_file(tmp_path / "none") == {}

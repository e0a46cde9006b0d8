"""Debian's packages that `make` installs where it runs as root on a machine with apt."""

import os
import shutil

from tools.dev.processes import run_to_end


def can_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def install(*packages: str) -> None:
    """Install the first of these packages that brings a program of its own name."""
    print(f"Instalando {packages[0]} con apt…", flush=True)
    apt, env = ["apt-get", "--yes", "-qq"], {"DEBIAN_FRONTEND": "noninteractive"}
    run_to_end([*apt, "update"], env=env)
    for package in packages:
        run_to_end([*apt, "install", "--no-install-recommends", package], env=env)
        if shutil.which(package):
            break

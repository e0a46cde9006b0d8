"""The Chromium of the browser tests and of the drawing and measuring commands."""

import os
import shutil
import sys
from typing import Any

from tools.dev.processes import SetupError, can_install_with_apt, install_with_apt, run_to_end

# Debian's packages. The headless shell is Chromium without windows: a journey costs 40 % less CPU.
PACKAGES = ("chromium-headless-shell", "chromium")


def install_chromium() -> str | None:
    """Install Chromium if there is none. Returns its path, or None for Playwright's own.

    CHROMIUM_PATH in the environment wins. For root on a machine with apt it is Debian's headless
    shell, or Debian's whole Chromium where there is no such package.
    """
    found = find_chromium()
    if os.environ.get("CHROMIUM_PATH") or shutil.which(PACKAGES[0]):
        return found
    if can_install_with_apt():
        install_with_apt(*PACKAGES)
        found = find_chromium()
    if found:
        return found
    # Downloads nothing if Playwright has its Chromium already.
    if run_to_end([sys.executable, "-m", "playwright", "install", "chromium"]) != 0:
        raise SetupError("No se puede instalar Chromium: indica el tuyo con CHROMIUM_PATH.")
    return None


def find_chromium() -> str | None:
    """The Chromium of CHROMIUM_PATH or the machine's own; None if there is neither."""
    if configured := os.environ.get("CHROMIUM_PATH"):
        if not os.access(configured, os.X_OK):
            raise SetupError(f"CHROMIUM_PATH indica {configured}, que no es un programa.")
        return configured
    return next(filter(None, map(shutil.which, (*PACKAGES, "google-chrome"))), None)


def launch_options() -> dict[str, Any]:
    """Playwright's options for the Chromium that `find_chromium` finds."""
    options: dict[str, Any] = {}
    if path := find_chromium():
        options["executable_path"] = path
    if os.geteuid() == 0:
        options["args"] = ["--no-sandbox"]  # Chromium's own sandbox does not start as root.
    return options

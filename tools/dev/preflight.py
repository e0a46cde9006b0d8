# -*- coding: utf-8 -*-
"""Checks that this machine has Python 3.11 and Node 20, before anything is installed.

This file must parse on any Python, even Python 2: an old Python gets one sentence, no SyntaxError.
"""

import shutil
import subprocess
import sys

OLDEST_NODE = 20

if sys.version_info < (3, 11):
    sys.exit(
        "Hace falta Python 3.11 o posterior y este es el %d.%d: instala uno más nuevo e indícalo, "
        "por ejemplo «make run PYTHON=python3.11»." % sys.version_info[:2]
    )
if not shutil.which("node") or not shutil.which("npm"):
    sys.exit("Hace falta Node.js %d o posterior, con npm, y aquí no se encuentra." % OLDEST_NODE)
version = subprocess.check_output(["node", "--version"]).decode().strip().lstrip("v")
if int(version.split(".")[0]) < OLDEST_NODE:
    sys.exit("Hace falta Node.js %d o posterior y este es el %s." % (OLDEST_NODE, version))

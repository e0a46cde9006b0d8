# -*- coding: utf-8 -*-
"""`python3 -m academy.dev COMMAND`: the door of every `make` target.

This file must parse on any Python, Python 2 included: a Python that is too old is to be told so in
one sentence instead of by a syntax error from some module behind it.
"""

import sys

if sys.version_info < (3, 11):
    sys.exit(
        "Hace falta Python 3.11 o posterior y este es el %d.%d: instala uno más nuevo e indícalo, "
        "por ejemplo «make run PYTHON=python3.11»." % sys.version_info[:2]
    )

from academy.dev.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

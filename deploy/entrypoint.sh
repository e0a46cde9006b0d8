#!/bin/sh
# Runs one process of the Procfile: `web`, `worker`, `release`… Anything else is run as it is.
set -eu
# This release's folder and Python by their own names: `current` may lead to another release while the process runs.
cd "$(dirname "$(readlink -f "$0")")/.."
if [ -d venv ]; then
    PATH="$PWD/venv/bin:$PATH"
fi
line=$(sed -n "s/^$1: //p" Procfile)
if [ -z "$line" ]; then
    exec "$@"
fi
if [ "$1" = web ] && [ -n "${COLLECT_STATIC:-}" ]; then
    # In a container, into VAR_DIR: the code is read-only.
    python manage.py collectstatic --noinput --verbosity 0
fi
# A line with several commands needs the shell; a single one becomes the first process.
case $line in
    *'&&'*) exec sh -c "$line" ;;
    *) exec sh -c "exec $line" ;;
esac

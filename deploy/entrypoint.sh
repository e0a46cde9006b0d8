#!/bin/sh
# Runs one process of the Procfile: `web`, `worker`, `release`… Anything else is run as it is.
set -eu
line=$(sed -n "s/^$1: //p" Procfile)
if [ -z "$line" ]; then
    exec "$@"
fi
if [ "$1" = web ]; then
    # Into VAR_DIR: the code is read-only.
    python manage.py collectstatic --noinput --verbosity 0
fi
# A line with several commands needs the shell; a single one becomes the container's first process.
case $line in
    *'&&'*) exec sh -c "$line" ;;
    *) exec sh -c "exec $line" ;;
esac

# syntax=docker/dockerfile:1
# Where no registry is reached: other images of Debian 12, with Node.js 20 and with Python 3.11.
ARG NODE_IMAGE=node:20-bookworm-slim@sha256:2cf067cfed83d5ea958367df9f966191a942351a2df77d6f0193e162b5febfc0
ARG PYTHON_IMAGE=python:3.11-slim-bookworm@sha256:a36c24f9cbdf4fd0f52d67f0823eeac19c2028c637cecc392d97f980d4fec56b

# The front end.
FROM ${NODE_IMAGE} AS front-end
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
# --include=dev: the bundler is a development package.
RUN npm ci --include=dev --no-audit --no-fund
COPY tsconfig.json ./
COPY static_src static_src
RUN node static_src/build.mjs

# Python's packages.
FROM ${PYTHON_IMAGE} AS packages
COPY requirements.txt .
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --require-hashes --requirement requirements.txt

# The shop.
FROM ${PYTHON_IMAGE}
# pg_dump of PostgreSQL 16 and age, for `manage.py backup`. Debian's own pg_dump is of 15.
ARG POSTGRESQL=16
RUN apt-get update \
    && apt-get install --yes --no-install-recommends postgresql-common ca-certificates age \
    && if [ "$POSTGRESQL" != 15 ]; then /usr/share/postgresql-common/pgdg/apt.postgresql.org.sh -y; fi \
    && apt-get install --yes --no-install-recommends "postgresql-client-$POSTGRESQL" \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --no-create-home --home-dir /data academia \
    && install --directory --owner academia --group academia /data
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 VAR_DIR=/data BIND_HOST=0.0.0.0 COLLECT_STATIC=1
WORKDIR /app
COPY --from=packages /venv /venv
COPY manage.py Procfile ./
COPY academy academy
COPY apps apps
COPY templates templates
COPY tools/__init__.py tools/__init__.py
COPY tools/stripe_sandbox tools/stripe_sandbox
COPY deploy/entrypoint.sh deploy/entrypoint.sh
COPY --from=front-end /build/var/static_build var/static_build
RUN python -m compileall -q academy apps && chmod 0755 deploy/entrypoint.sh
USER academia
VOLUME /data
EXPOSE 8000
ENTRYPOINT ["deploy/entrypoint.sh"]
CMD ["web"]
HEALTHCHECK --interval=15s --timeout=5s --start-period=60s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]

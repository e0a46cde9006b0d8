# syntax=docker/dockerfile:1
# The front end.
FROM node:20-bookworm-slim AS front-end
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
# --include=dev: the bundler is a development package.
RUN npm ci --include=dev --no-audit --no-fund
COPY tsconfig.json ./
COPY static_src static_src
RUN node static_src/build.mjs

# Python's packages.
FROM python:3.11-slim-bookworm AS packages
COPY requirements.txt .
RUN python -m venv /venv \
    && /venv/bin/pip install --no-cache-dir --require-hashes --requirement requirements.txt

# The shop.
FROM python:3.11-slim-bookworm
# pg_dump of PostgreSQL 16 and age, for `manage.py backup`.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends postgresql-common ca-certificates age \
    && /usr/share/postgresql-common/pgdg/apt.postgresql.org.sh -y \
    && apt-get install --yes --no-install-recommends postgresql-client-16 \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --uid 10001 --no-create-home --home-dir /data academia \
    && install --directory --owner academia --group academia /data
ENV PATH=/venv/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 VAR_DIR=/data BIND_HOST=0.0.0.0
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

# Each target first installs and builds whatever is older than its inputs.
PYTHON ?= python3
TEMPLATES = $(shell find templates apps -name '*.html')
PIP = .venv/bin/python -m pip install -qq --disable-pip-version-check --require-hashes --requirement
# `exec`: make passes a SIGTERM to the process that it started, which must be Python, not a shell.
RUN = @exec .venv/bin/python -m tools.dev

# Python's and npm's packages are installed at the same time.
MAKEFLAGS += --jobs=2

.DELETE_ON_ERROR:
.PHONY: help preflight install run test check test-py test-web test-browser test-dates test-stripe \
	test-moodle test-upgrade format lock audit fuzz lighthouse images bench drill load containers

help:
	@echo "make run            la tienda entera en esta máquina (PORT=8000)"
	@echo "make test           todas las comprobaciones y pruebas"
	@echo "make check          solo las comprobaciones estáticas"
	@echo "make test-py        las pruebas de Python, en PostgreSQL y en SQLite"
	@echo "make test-web       las pruebas de TypeScript"
	@echo "make test-browser   los recorridos en Chromium"
	@echo "make test-again     las que han fallado en «make test», otra vez: cinco como mucho"
	@echo "make test-dates     las pruebas de Python en doce momentos: campañas, fin de año, cambio de hora…"
	@echo "make test-stripe    lo que la tienda espera de Stripe, en una cuenta de prueba real"
	@echo "make test-moodle    lo que la tienda espera de Moodle, en un Moodle de pruebas real"
	@echo "make test-upgrade   las pruebas de la versión anterior con el esquema de esta"
	@echo "make fuzz           miles de peticiones inventadas a partir del esquema de la API"
	@echo "make drill          simulacros: la tienda de producción, averías, y qué se ha perdido"
	@echo "make containers     construye la imagen sin registro de imágenes y compra en ella (root)"
	@echo "make load           diez minutos de visitas y compras mezcladas"
	@echo "make format         da formato al código"
	@echo "make lighthouse     juzga cada página pública con Lighthouse (PAGES=/compra: solo esa)"
	@echo "make images         vuelve a dibujar los iconos y la imagen para compartir"
	@echo "make bench          mide la tienda junto a sus límites (BENCH=pages: solo esa parte)"
	@echo "make audit          busca vulnerabilidades conocidas en los paquetes fijados"
	@echo "make lock           vuelve a fijar las versiones de los paquetes"

# Python 3.11 and Node 20, or one sentence that says what is missing.
preflight:
	@$(PYTHON) tools/dev/preflight.py

.venv/bin/python: | preflight
	@$(PYTHON) -m venv --clear .venv || { rm -rf .venv; exit 1; }

.venv/runtime: requirements.txt .venv/bin/python
	@echo "Instalando los paquetes de Python…"
	@$(PIP) $< && touch $@

.venv/development: tools/dev/requirements-dev.txt .venv/runtime
	@echo "Instalando las herramientas de Python…"
	@$(PIP) $< && touch $@

# --include=dev: with NODE_ENV=production npm would leave out the bundler.
node_modules/.package-lock.json: package.json package-lock.json | preflight
	@echo "Instalando los paquetes de npm…"
	@npm ci --include=dev --no-audit --no-fund --loglevel=error >/dev/null && touch $@

# `find` lists the folders, too: they are newer after a file was added, renamed or deleted.
var/static_build/build/manifest.json: node_modules/.package-lock.json tsconfig.json $(shell find static_src)
	@echo "Construyendo la parte del navegador…"
	@node static_src/build.mjs >/dev/null && touch $@

install: .venv/runtime var/static_build/build/manifest.json

run: install
	$(RUN) run

test check test-again test-py test-browser test-dates test-stripe test-moodle test-upgrade fuzz lighthouse images bench: install .venv/development
	$(RUN) $@

drill load containers: install .venv/development
	@exec .venv/bin/python -m tools.drill.$@

test-web: install
	$(RUN) $@

format: install .venv/development
	@.venv/bin/ruff check --fix --quiet
	@.venv/bin/ruff format --quiet
	-@.venv/bin/djade --target-version 5.2 $(TEMPLATES) # fails if it changes a file
	@node_modules/.bin/biome check --write

# Compiled requirements name no index and package-lock.json no addresses (see .npmrc).
COMPILE = $(UV) pip compile --quiet --generate-hashes --no-emit-index-url --no-emit-find-links --python-version 3.11 --universal
UV ?= $(or $(shell command -v uv),var/tools/bin/uv)
lock: $(UV)
	@$(COMPILE) pyproject.toml -o requirements.txt
	@$(COMPILE) --group dev -c requirements.txt -o tools/dev/requirements-dev.txt
	@npm install --package-lock-only --no-audit --no-fund

# pip-audit stays out of the pinned packages: it would bring twenty more. It installs nothing of what it looks up.
audit: var/tools/bin/pip-audit
	@$< -r requirements.txt -r tools/dev/requirements-dev.txt --require-hashes --disable-pip --strict --progress-spinner off
	@npm audit

var/tools/bin/pip-audit: | preflight
	@$(PYTHON) -m venv var/tools
	@var/tools/bin/python -m pip install --quiet pip-audit==2.10.1

var/tools/bin/uv: | preflight
	@$(PYTHON) -m venv var/tools
	@var/tools/bin/python -m pip install --quiet uv

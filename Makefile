# Every target installs what it needs first, and only where something it depends on has changed.
PYTHON ?= python3

.PHONY: help run test check test-py test-web test-browser test-stripe format lock lighthouse images bench

help:
	@echo "make run            la tienda entera en esta máquina (PORT=8000)"
	@echo "make test           todas las comprobaciones y pruebas"
	@echo "make check          solo las comprobaciones estáticas"
	@echo "make test-py        las pruebas de Python, en PostgreSQL y en SQLite"
	@echo "make test-web       las pruebas de TypeScript"
	@echo "make test-browser   los recorridos en Chromium"
	@echo "make test-stripe    lo que la tienda espera de Stripe, en una cuenta de prueba real"
	@echo "make format         da formato al código"
	@echo "make lighthouse     juzga cada página pública con Lighthouse"
	@echo "make images         vuelve a dibujar los iconos y la imagen para compartir"
	@echo "make bench          mide el catálogo con mil y con cien mil asignaturas"
	@echo "make lock           vuelve a fijar las versiones de los paquetes"

# exec: make passes a SIGTERM on to the process that it started, which then is Python, not a shell.
run test check test-py test-web test-browser test-stripe format lock lighthouse images bench:
	@exec $(PYTHON) -m academy.dev $@

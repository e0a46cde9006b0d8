"""The navigation of the back office: one table, grouped as the work is (docs/rules.md, "Staff").

A new page adds one line to ENTRIES, in the place where staff should find it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby

from django.urls import reverse

from apps.backoffice.accounts.permitted import Permitted


@dataclass(frozen=True)
class Entry:
    """A link. It is shown to users with `permission`, or to all staff if that is empty."""

    section: str
    label: str
    url_name: str
    permission: str = ""


@dataclass(frozen=True)
class Link:
    label: str
    url: str
    is_current: bool


@dataclass(frozen=True)
class Section:
    label: str
    links: tuple[Link, ...]

    @property
    def is_current(self) -> bool:
        return any(link.is_current for link in self.links)


def _list(section: str, label: str, model: str) -> Entry:
    """The entry of a model's list. `model` is "app.model"."""
    app, _, name = model.partition(".")
    return Entry(section, label, f"admin:{app}_{name}_changelist", f"{app}.view_{name}")


# The entries of one section stand together.
ENTRIES = (
    Entry("Hoy", "Hoy", "admin:index"),
    _list("Pedidos", "Pedidos", "orders.order"),
    _list("Pedidos", "Regalos", "orders.gift"),
    _list("Pedidos", "Pagos", "orders.payment"),
    _list("Pedidos", "Plazos", "orders.instalment"),
    _list("Pedidos", "Devoluciones", "orders.refund"),
    _list("Pedidos", "Disputas", "orders.dispute"),
    _list("Pedidos", "Notas", "orders.ordernote"),
    _list("Pedidos", "Facturas", "invoices.invoice"),
    _list("Pedidos", "Facturas en espera", "invoices.pendinginvoice"),
    Entry("Pedidos", "Pedido nuevo", "admin:orders_order_nuevo", "orders.add_stafforder"),
    _list("Pedidos", "Transferencias", "orders.transferreceipt"),
    _list("Pedidos", "Líneas vendidas", "orders.orderline"),
    _list("Pedidos", "Historial de pedidos", "orders.orderevent"),
    _list("Alumnos", "Alumnos", "students.student"),
    _list("Alumnos", "Altas en el aula", "classroom.provisioning"),
    _list("Alumnos", "Matrículas", "classroom.enrolment"),
    _list("Alumnos", "Cuentas del aula", "classroom.account"),
    _list("Alumnos", "Cambios de acceso", "classroom.accesschange"),
    _list("Alumnos", "Consentimientos", "students.consent"),
    _list("Alumnos", "Inicios de sesión", "students.signin"),
    _list("Alumnos", "Peticiones de borrado", "students.erasurerequest"),
    _list("Catálogo", "Asignaturas", "catalogue.subject"),
    _list("Catálogo", "Lecciones", "catalogue.lesson"),
    _list("Catálogo", "Grados", "catalogue.degree"),
    _list("Catálogo", "Universidades", "catalogue.university"),
    _list("Catálogo", "Cambios de precio", "catalogue.pricechange"),
    _list("Catálogo", "Cambios en bloque", "catalogue.pricebatch"),
    _list("Catálogo", "Semestres", "classroom.semester"),
    _list("Catálogo", "Cursos de Moodle", "classroom.moodlecourse"),
    _list("Promociones", "Condiciones de venta", "pricing.terms"),
    _list("Promociones", "Campañas", "pricing.campaign"),
    _list("Promociones", "Códigos", "pricing.promocode"),
    _list("Promociones", "Tandas de códigos", "pricing.promobatch"),
    _list("Promociones", "Usos de códigos", "orders.promouse"),
    _list("Promociones", "Recompensas por amigos", "orders.referralreward"),
    _list("Contactos", "Solicitudes", "leads.lead"),
    _list("Contactos", "Desistimientos", "leads.withdrawal"),
    _list("Contactos", "Presupuestos", "leads.quote"),
    _list("Contactos", "Plantillas de respuesta", "leads.answertemplate"),
    _list("Contactos", "Asignaturas pedidas", "leads.requestedsubject"),
    _list("Contenido", "Planes", "pages.priceplan"),
    _list("Contenido", "Preguntas frecuentes", "pages.faq"),
    _list("Contenido", "Opiniones", "pages.testimonial"),
    _list("Contenido", "Opiniones verificadas", "pages.opinion"),
    _list("Contenido", "Profesores", "pages.teammember"),
    _list("Contenido", "Instituciones", "pages.institution"),
    _list("Contenido", "Textos legales", "core.legaltext"),
    _list("Contenido", "Redirecciones", "pages.redirect"),
    Entry("Informes", "Informes", "admin:reports", "payments.view_reports"),
    _list("Informes", "Diferencias de la auditoría", "payments.auditdifference"),
    _list("Sistema", "Correos", "core.mail"),
    Entry("Sistema", "Modelos de correo", "admin:core_mail_samples", "core.view_mail"),
    _list("Sistema", "Eventos de Stripe", "payments.providerevent"),
    _list("Sistema", "Registros de VERI*FACTU", "invoices.taxrecord"),
    _list("Sistema", "Tareas programadas", "core.scheduledjob"),
    _list("Sistema", "Procesos", "core.heartbeat"),
    _list("Sistema", "Incidencias", "core.incident"),
    _list("Sistema", "Copias de seguridad", "core.backup"),
    _list("Sistema", "Ajustes del sitio", "core.sitesettings"),
    _list("Sistema", "Papelera", "core.deletedrow"),
    _list("Sistema", "Actividad del equipo", "core.staffaction"),
    _list("Sistema", "Usuarios", "auth.user"),
    _list("Sistema", "Grupos", "auth.group"),
)  # fmt: skip
# Entries of these sections follow in this order, wherever their lines stand.
SECTIONS = (
    "Hoy", "Pedidos", "Alumnos", "Catálogo", "Promociones", "Contactos", "Contenido", "Informes",
    "Sistema",
)  # fmt: skip


def sections(user: Permitted, path: str) -> list[Section]:
    """The sections with the entries that the user may open. `path` is the page's address."""
    permitted = [
        (entry, reverse(entry.url_name))
        for entry in ENTRIES
        if not entry.permission or user.has_perm(entry.permission)
    ]
    current = _current(path, (url for _, url in permitted))
    ordered = sorted(permitted, key=lambda pair: SECTIONS.index(pair[0].section))
    return [
        Section(label, tuple(Link(entry.label, url, url == current) for entry, url in entries))
        for label, entries in groupby(ordered, key=lambda pair: pair[0].section)
    ]


def _current(path: str, urls: Iterable[str]) -> str:
    """The entry that the page belongs to: the longest address that the page's address begins with.

    The start page's address begins every other one, so only an equal path counts for it.
    """
    start = reverse("admin:index")
    under = (url for url in urls if path == url or (url != start and path.startswith(url)))
    return max(under, key=len, default="")

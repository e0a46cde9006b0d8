"""The navigation of the back office: one table, grouped as the work is (docs/rules.md, "Staff").

A new page adds one line to ENTRIES, in the place where staff should find it. Lists that belong
together share one entry of the menu and are tabs of each other.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from django.urls import reverse

from apps.backoffice.accounts.permitted import Permitted

TECHNICAL = "Técnico"


@dataclass(frozen=True)
class Entry:
    """A page. It is shown to users with `permission`, or to all staff if that is empty.

    Entries of a section with the same `menu` are one entry of the menu, whose pages are tabs. An
    empty `menu` is an entry of its own.
    """

    section: str
    label: str
    url_name: str
    permission: str = ""
    menu: str = ""


@dataclass(frozen=True)
class Link:
    label: str
    url: str
    is_current: bool


@dataclass(frozen=True)
class Section:
    """A part of the menu. That of the technical lists is folded until one of them is open."""

    label: str
    links: tuple[Link, ...]

    @property
    def is_folded(self) -> bool:
        return self.label == TECHNICAL

    @property
    def is_current(self) -> bool:
        return any(link.is_current for link in self.links)


def _list(section: str, label: str, model: str, menu: str = "") -> Entry:
    """The entry of a model's list. `model` is "app.model"."""
    app, _, name = model.partition(".")
    return Entry(section, label, f"admin:{app}_{name}_changelist", f"{app}.view_{name}", menu)


# The entries of one section stand together, and so do those of one entry of the menu.
ENTRIES = (
    Entry("Hoy", "Hoy", "admin:index"),
    _list("Pedidos", "Pedidos", "orders.order", "Pedidos"),
    _list("Pedidos", "Regalos", "orders.gift", "Pedidos"),
    _list("Pedidos", "Líneas vendidas", "orders.orderline", "Pedidos"),
    _list("Pedidos", "Notas", "orders.ordernote", "Pedidos"),
    _list("Pedidos", "Pagos", "orders.payment", "Pagos"),
    _list("Pedidos", "Plazos", "orders.instalment", "Pagos"),
    _list("Pedidos", "Transferencias", "orders.transferreceipt", "Pagos"),
    _list("Pedidos", "Quién debe", "orders.debt"),
    _list("Pedidos", "Devoluciones", "orders.refund"),
    _list("Pedidos", "Disputas", "orders.dispute"),
    _list("Pedidos", "Facturas", "invoices.invoice", "Facturas"),
    _list("Pedidos", "Facturas en espera", "invoices.pendinginvoice", "Facturas"),
    _list("Alumnos", "Alumnos", "students.student", "Alumnos"),
    _list("Alumnos", "Peticiones de borrado", "students.erasurerequest", "Alumnos"),
    _list("Alumnos", "Altas", "classroom.provisioning", "Aula virtual"),
    _list("Alumnos", "Matrículas", "classroom.enrolment", "Aula virtual"),
    _list("Alumnos", "Cambios de acceso", "classroom.accesschange", "Aula virtual"),
    _list("Alumnos", "Cursos de Moodle", "classroom.moodlecourse", "Aula virtual"),
    _list("Alumnos", "Semestres", "classroom.semester", "Aula virtual"),
    _list("Contactos", "Solicitudes", "leads.lead", "Solicitudes"),
    _list("Contactos", "Presupuestos", "leads.quote", "Solicitudes"),
    _list("Contactos", "Asignaturas pedidas", "leads.requestedsubject", "Solicitudes"),
    _list("Contactos", "Plantillas de respuesta", "leads.answertemplate", "Solicitudes"),
    _list("Contactos", "Avisos de universidades", "leads.universitynotice", "Solicitudes"),
    _list("Contactos", "Desistimientos", "leads.withdrawal"),
    _list("Catálogo", "Asignaturas", "catalogue.subject", "Asignaturas"),
    _list("Catálogo", "Lecciones", "catalogue.lesson", "Asignaturas"),
    _list("Catálogo", "Grados", "catalogue.degree", "Asignaturas"),
    _list("Catálogo", "Universidades", "catalogue.university", "Asignaturas"),
    _list("Catálogo", "Cambios de precio", "catalogue.pricechange", "Cambios de precio"),
    _list("Catálogo", "Cambios en bloque", "catalogue.pricebatch", "Cambios de precio"),
    _list("Promociones", "Campañas", "pricing.campaign"),
    _list("Promociones", "Códigos", "pricing.promocode", "Códigos"),
    _list("Promociones", "Tandas de códigos", "pricing.promobatch", "Códigos"),
    _list("Promociones", "Usos de códigos", "orders.promouse", "Códigos"),
    _list("Promociones", "Recompensas por amigos", "orders.referralreward"),
    _list("Promociones", "Condiciones de venta", "pricing.terms"),
    _list("Contenido", "Planes", "pages.priceplan", "Planes y preguntas"),
    _list("Contenido", "Preguntas frecuentes", "pages.faq", "Planes y preguntas"),
    _list("Contenido", "De alumnos, verificadas", "pages.opinion", "Opiniones"),
    _list("Contenido", "Escritas por la academia", "pages.testimonial", "Opiniones"),
    _list("Contenido", "Profesores", "pages.teammember", "Profesores e instituciones"),
    _list("Contenido", "Lecciones de muestra", "pages.lessonsample", "Profesores e instituciones"),
    _list("Contenido", "Instituciones", "pages.institution", "Profesores e instituciones"),
    _list("Contenido", "Textos legales", "core.legaltext"),
    Entry("Informes", "Informes", "admin:reports", "payments.view_reports"),
    _list("Ajustes", "Ajustes del sitio", "core.sitesettings"),
    _list("Ajustes", "Correos", "core.mail", "Correos"),
    Entry("Ajustes", "Modelos de correo", "admin:core_mail_samples", "core.view_mail", "Correos"),
    _list("Ajustes", "Usuarios", "auth.user", "Equipo"),
    _list("Ajustes", "Grupos", "auth.group", "Equipo"),
    _list("Ajustes", "Límites", "core.stafflimit", "Equipo"),
    _list("Ajustes", "Actividad", "core.staffaction", "Equipo"),
    _list("Ajustes", "Papelera", "core.deletedrow"),
    _list(TECHNICAL, "Historial de pedidos", "orders.orderevent"),
    _list(TECHNICAL, "Diferencias de la auditoría", "payments.auditdifference"),
    _list(TECHNICAL, "Eventos de Stripe", "payments.providerevent"),
    _list(TECHNICAL, "Registros de VERI*FACTU", "invoices.taxrecord"),
    _list(TECHNICAL, "Cuentas del aula", "classroom.account"),
    _list(TECHNICAL, "Consentimientos", "students.consent"),
    _list(TECHNICAL, "Inicios de sesión", "students.signin"),
    _list(TECHNICAL, "Redirecciones", "pages.redirect"),
    _list(TECHNICAL, "Tareas programadas", "core.scheduledjob"),
    _list(TECHNICAL, "Procesos", "core.heartbeat"),
    _list(TECHNICAL, "Incidencias", "core.incident"),
    _list(TECHNICAL, "Copias de seguridad", "core.backup"),
)  # fmt: skip


@dataclass(frozen=True)
class Navigation:
    sections: list[Section]
    # The lists that share the entry of the page's list; none if it stands alone.
    tabs: list[Link]


def navigation(user: Permitted, path: str) -> Navigation:
    """The pages that the user may open, as menu and tabs. `path` is the page's address."""
    permitted = [
        (entry, _address(entry.url_name))
        for entry in ENTRIES
        if not entry.permission or user.has_perm(entry.permission)
    ]
    current = _current(path, (url for _, url in permitted))
    sections: list[Section] = []
    tabs: list[Link] = []
    for section, pages in groupby(permitted, key=lambda page: page[0].section):
        entries = []
        for menu, group in groupby(pages, key=lambda page: page[0].menu or page[0].label):
            links = [Link(entry.label, url, url == current) for entry, url in group]
            is_current = any(link.is_current for link in links)
            label = menu if len(links) > 1 else links[0].label
            entries.append(Link(label, links[0].url, is_current))
            if is_current and path == current and len(links) > 1:
                tabs = links
        sections.append(Section(section, tuple(entries)))
    return Navigation(sections, tabs)


@cache
def _address(url_name: str) -> str:
    """The address of an entry. It is the same on each page, which would form seventy of them."""
    return reverse(url_name)


def _current(path: str, urls: Iterable[str]) -> str:
    """The entry that the page belongs to: the longest address that the page's address begins with.

    The start page's address begins every other one, so only an equal path counts for it.
    """
    start = _address("admin:index")
    under = (url for url in urls if path == url or (url != start and path.startswith(url)))
    return max(under, key=len, default="")

from django.urls import path

from apps.core.models import LegalText
from apps.pages import account, course_pages, site_files, views
from apps.pages.catalogue_page import compra
from apps.pages.opinions.views import opinion_page

Kind = LegalText.Kind

urlpatterns = [
    path("sitemap.xml", site_files.sitemap, name="sitemap"),
    path("sitemap-paginas.xml", site_files.sitemap_of_pages, name="sitemap-paginas"),
    path(
        "sitemap-asignaturas-<int:number>.xml",
        site_files.sitemap_of_subjects,
        name="sitemap-asignaturas",
    ),
    path("robots.txt", site_files.robots, name="robots"),
    path(".well-known/security.txt", site_files.security_txt),
    path(".well-known/apple-developer-merchantid-domain-association", site_files.apple_pay_domain),
    path("site.webmanifest", site_files.manifest, name="manifest"),
    path("speculation-rules.json", site_files.speculation_rules, name="speculation-rules"),
    path("favicon.ico", site_files.favicon),
    path("imagenes/<path:name>", site_files.picture),
    path("", views.home, name="home"),
    path("inicio", views.inicio),
    path("compra", compra, name="compra"),
    path("opinion", opinion_page, name="opinion"),
    path("buscar", course_pages.search_page, name="buscar"),
    path("asignaturas", course_pages.all_subjects, name="asignaturas"),
    path("asignaturas/<slug:university>", course_pages.university_page),
    path(
        "asignaturas/<slug:university>/grados/<slug:degree>",
        course_pages.degree_page,
    ),
    path(
        "asignaturas/<slug:university>/<slug:subject>",
        course_pages.subject_page,
    ),
    path("profesores/<slug:teacher>", course_pages.teacher_page),
    path("servicios", views.servicios, name="servicios"),
    path("muestra", views.muestra, name="muestra"),
    path("nosotros", views.nosotros, name="nosotros"),
    path("precios", views.precios, name="precios"),
    path("contenido-asignatura", views.contenido_asignatura, name="contenido-asignatura"),
    path("login", account.login, name="login"),
    path("login/entrar", account.login_link, name="login-link"),
    path("mi-cuenta", account.account, name="mi-cuenta"),
    path("mi-cuenta/datos", account.save_own_data, name="mi-cuenta-datos"),
    path("mi-cuenta/mis-datos.json", account.download, name="mi-cuenta-descarga"),
    path("mi-cuenta/borrado", account.ask_for_erasure, name="mi-cuenta-borrado"),
    path("mi-cuenta/salir", account.leave, name="mi-cuenta-salir"),
    path("terminos", views.legal, {"kinds": (Kind.TERMS,)}, name="terminos"),
    path("privacidad", views.legal, {"kinds": (Kind.PRIVACY, Kind.COOKIES)}, name="privacidad"),
    path("cookies", views.legal, {"kinds": (Kind.COOKIES,)}, name="cookies"),
    path("aviso-legal", views.legal, {"kinds": (Kind.NOTICE,)}, name="aviso-legal"),
    path("accesibilidad", views.legal, {"kinds": (Kind.ACCESSIBILITY,)}, name="accesibilidad"),
]

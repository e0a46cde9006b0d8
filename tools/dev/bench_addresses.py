"""Rows of `make bench` about strangers: the CPU time of each address that asks for no sign-in.

It is that of the web process and of PostgreSQL, which the row's note tells apart.

Every request is one that the shop has not answered before, so nothing is kept. docs/security.md has
the table ("What a request costs"), and `tests/security/test_costs.py` compares the addresses.
"""

import json
import secrets
from dataclasses import dataclass, field
from typing import Any

import requests
from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.test.utils import override_settings

from apps.catalogue.models import Subject
from apps.core.models import LegalText
from apps.core.web.session_store import SessionStore
from apps.orders.models import Order, OrderLine
from apps.orders.offer.cart import MOST_LINES, CheckoutItem
from apps.orders.offer.offer import Asked as Cart
from apps.orders.offer.offer import offer_for
from apps.pricing.payment_type import PaymentType
from apps.students.models import Consent, Student
from apps.students.session import sign_in
from tools.dev.bench import Row
from tools.dev.bench_shop import PRODUCTION, Server, fill_shop, running_shop

REQUESTS = 25
MOST_MS = 30.0
EMAIL = "stranger{n}@example.com"
PHONE = "600 222 222"
CONTACT = {"email": EMAIL, "phone": PHONE, "career": "Psicología", "acceptTerms": True}
# 1,900 values, near the most that a body may have.
MANY_VALUES = {"items": [{"subject_id": n, "lesson_ids": list(range(18))} for n in range(100)]}
FORGED_EVENT = {"type": "charge.refunded", "data": {"object": {"id": "x" * 500_000}}}
REPORTS = [
    {"body": {"effectiveDirective": f"d{n}", "blockedURL": "https://x.test/{n}"}} for n in range(20)
]


@dataclass(frozen=True)
class Asked:
    """A request of a stranger. `{n}` is its number, `{slug}` and `{id}` are those of a subject.

    Without `body` and `form` it is a GET. `form` is sent with the cookie of Django's CSRF check.
    """

    path: str
    body: Any = None
    form: dict[str, str] = field(default_factory=dict)
    file: bytes = b""
    # What bounds an address that costs more than MOST_MS.
    bound: str = ""
    # What tells this request from another one to the same address.
    kind: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    head: bool = False
    # Whether it has a session, which anybody gets with a mailbox of their own.
    is_signed_in: bool = False

    @property
    def method(self) -> str:
        return "POST" if self.body or self.form else "HEAD" if self.head else "GET"

    @property
    def name(self) -> str:
        return f"`{self.method} {self.path}{f' ({self.kind})' if self.kind else ''}`"


PAGES = (
    "/", "/inicio", "/compra?buscar=a{n}", "/servicios", "/muestra", "/nosotros", "/precios",
    "/contenido-asignatura", "/terminos", "/privacidad", "/cookies", "/aviso-legal",
    "/accesibilidad", "/asignaturas",
    "/asignaturas/{university}", "/asignaturas/{university}/grados/{degree}",
    "/asignaturas/{university}/{slug}", "/profesores/lucia-martin-1",
    "/buscar?q=a{n}", "/opinion", "/sitemap.xml",
    "/sitemap-paginas.xml", "/sitemap-asignaturas-1.xml", "/speculation-rules.json", "/robots.txt",
    "/site.webmanifest", "/favicon.ico", "/imagenes/a{n}.png", "/static/a{n}.css",
    "/.well-known/security.txt",
    "/.well-known/apple-developer-merchantid-domain-association", "/login", "/login/entrar",
    "/mi-cuenta", "/mi-cuenta/datos", "/mi-cuenta/mis-datos.json", "/mi-cuenta/borrado",
    "/mi-cuenta/salir", "/success", "/cancel", "/renovar?enlace=x{n}", "/plazos?order={n}&token=x",
    "/complete-payment?order={n}&token=x", "/avisos/baja", "/aula", "/aula/perfil", "/aula/salir",
    "/aula/enlace", "/aula/confirmar", "/aula/acceso", "/aula/entrar", "/admin/login/",
    "/admin/clave-olvidada", "/admin/nueva-clave", "/correo/confirmar?token=x{n}", "/desistimiento",
    "/factura", "/avisame?universidad={n}", "/avisame/confirmar?aviso=x{n}",
    "/avisame/baja?aviso=x{n}", "/factura/codigo.pdf", "/monitor", "/metrics", "/readyz",
    "/nothing{n}", "/.well-known/openid-configuration", "/oidc/autorizar",
    "/oidc/userinfo", "/oidc/jwks", "/oidc/salir", "/oidc/salir-de-todo",
)  # fmt: skip
ANSWERS = (
    "/api/universities", "/api/degrees?university_id=1", "/api/subjects?degree_id=1",
    "/api/catalogue?search=a{n}", "/api/suggestions?q=a{n}", "/api/lesson-credit", "/api/me",
    "/api/pricing",
    "/api/orders/by-payment?payment_intent_id=pi_{n}",
    "/api/get-stripe-public-key", "/api/instalments?order={n}&token=x",
    "/api/quotes?presupuesto=x{n}", "/api/schema", "/api/docs", "/api/nothing{n}",
)  # fmt: skip
# All that a search may ask the database for: lessons, semesters, codes and names.
DEAR_SEARCH = "?q=pr1+pr2+pec1+pec2+1.er+semestre+examen+6500+a{n}+estadistica+psicologia+derecho+x"
# What would ask for all words of the catalogue again and again, or compare them all.
EXAMS = "q=" + "examen+" * 13 + "a{n}"
UNKNOWN = "q=" + "+".join(f"zqwk{letter}kxzyw" for letter in "abcdefg") + "+zq{n}wkkxzyw"
MISTYPED = "q=zqwkakxzyw+zqwkbkxzyw+zqwk{n}kxzyw"
TOO_LONG = "orden=" + "x" * 101
# The Moodle of a shop that signs students in to it.
MOODLE, OIDC_SECRET = "https://moodle.test", "x" * 40
# Stands for the largest cart that the shop takes.
FULL_CART = "full cart"
OPENINGS = "300 in 10 minutes and visitor, 4,800 of a /48"
SIGN_INS = "20 attempts in 10 minutes and visitor, 300 on a network's known devices"
STAFF_SIGN_INS = "10 attempts of a user and 50 of a visitor in 15 minutes"
FORMS = "50 a day and visitor, 1,500 an hour in all"
SEARCHES = "2,400 in 10 minutes and visitor"
SENT = (
    Asked("/api/orders/recover?order={n}&token=x", bound=OPENINGS),
    Asked("/api/orders/recover?order={cart}&token={key}", bound=OPENINGS, kind="the largest cart"),
    Asked("/api/validate-promo-code", {"code": "NADA{n}"}),
    Asked(
        "/api/process-checkout",
        {"email": EMAIL, **MANY_VALUES},
        bound="60 an hour and visitor, 600 of a crowd",
    ),
    Asked(
        "/api/process-checkout",
        {
            "email": EMAIL, "phone": "+34600222222", "payment_type": "full_payment",
            "items": FULL_CART, "total_amount": FULL_CART, "save_for_later": True,
            "termsAccepted": True, "privacyAccepted": True,
        },
        bound="60 an hour and visitor, 600 of a crowd",
        kind="the largest cart, saved",
    ),
    Asked("/api/complete-payment", {"payment_intent_id": "pi_{n}"}),
    Asked("/api/create-auth-user", {"payment_intent_id": "pi_{n}"}),
    Asked("/api/orders/correct-email", {"order": 1, "token": "x{n}", "email": EMAIL}),
    Asked("/api/invoice-details", {"token": "x{n}"}),
    Asked("/api/instalments/pay", {"order": 1, "token": "x{n}"}),
    Asked("/api/instalments/card", {"order": 1, "token": "x{n}"}),
    Asked("/api/instalments/card-saved", {"order": 1, "token": "x{n}"}),
    Asked("/api/stripe/webhook", FORGED_EVENT),
    Asked(
        "/api/send-contact-email",
        {**CONTACT, "name": "Bruno", "message": "Hola {n}", "privacyAccepted": True},
        bound=FORMS,
    ),
    Asked("/api/send-discount-email", {**CONTACT, "career": "educacion-social"}, bound=FORMS),
    Asked("/api/request-free-subject", CONTACT, bound=FORMS),
    Asked(
        "/api/send-subject-request-email",
        {**CONTACT, "name": "Bruno", "university": "Una", "subjectName": "Álgebra {n}"},
        bound=FORMS,
    ),
    Asked(
        "/api/send-budget-email",
        {
            "formData": {
                "numberOfSubjects": "1", "fullPayment": False, "wasInvited": False,
                "friendCode": "", "dateRange": "sept-22", "numberOfInvitees": "0",
                "selectedUniversityId": None, "selectedDegreeId": None,
                "selectedSubjects": [
                    {"id": 1, "name": "x", "final_price": 1, "degree_id": 1}
                ],
            },
            "budgetResult": {
                "selectedSubjects": [], "basePrice": 1, "discounts": [], "finalPrice": 1,
            },
            "email": EMAIL, "phone": PHONE,
        },
        bound=FORMS,
    ),
    Asked(
        "/api/send-preview-contact",
        {"email": EMAIL, "acceptTerms": "true"},
        file=b"%PDF-1.7 " + b"x" * 1_000_000,
        bound=FORMS,
    ),
    Asked("/avisos-de-correo", {"event": "hard_bounce"}),
    Asked("/csp-report", REPORTS, bound="30 in 10 minutes and visitor, 600 reports an hour in all"),
    Asked(
        "/desistimiento",
        form={"name": "Bruno", "email": EMAIL, "details": "Todo {n}", "confirm": "1"},
        bound="50 a day and visitor",
    ),
    Asked("/factura", form={"token": "x{n}"}),
    Asked("/correo/confirmar", form={"token": "x{n}"}),
    Asked("/login", form={"email": EMAIL}),
    Asked("/aula", form={"email": "student@example.com", "password": "x{n}"}, bound=SIGN_INS),
    Asked("/aula/enlace", form={"email": EMAIL}),
    Asked("/admin/login/", form={"username": "carla", "password": "x{n}"}, bound=STAFF_SIGN_INS),
    Asked("/admin/clave-olvidada", form={"email": EMAIL}),
    Asked(
        "/oidc/token",
        # As Moodle passes on what a stranger sends to its sign-in page.
        form={
            "grant_type": "authorization_code", "code": "x{n}", "client_id": "moodle",
            "client_secret": OIDC_SECRET, "redirect_uri": f"{MOODLE}/admin/oauth2callback.php",
        },
    ),
)  # fmt: skip
DEAR = tuple(
    Asked(path + DEAR_SEARCH, bound=SEARCHES, kind="longest search")
    for path in ("/buscar", "/api/suggestions")
)
HTML, JSON = {"Accept": "text/html"}, {"Accept": "application/json"}
ORIGIN = {"Origin": "https://shop.test"}
# Ways around the kept answers.
ODD = (
    Asked("/", head=True),
    Asked("/", kind="Accept: text/html", headers=HTML),
    Asked("/", kind="Origin", headers=ORIGIN),
    Asked(f"/?{TOO_LONG}"),
    Asked(f"/buscar?{EXAMS}", bound=SEARCHES, kind="13 exams"),
    Asked(f"/buscar?{EXAMS}", bound=SEARCHES, kind="13 exams", head=True),
    Asked(f"/buscar?{EXAMS}", bound=SEARCHES, kind="13 exams, Accept: text/html", headers=HTML),
    Asked(f"/buscar?{EXAMS}", bound=SEARCHES, kind="13 exams, Origin", headers=ORIGIN),
    Asked(f"/buscar?{TOO_LONG}&{EXAMS}", bound=SEARCHES, kind="13 exams"),
    Asked(f"/buscar?{UNKNOWN}", bound=SEARCHES, kind="8 unknown words"),
    Asked(f"/buscar?{MISTYPED}", bound=SEARCHES, kind="3 unknown words"),
    Asked("/buscar?q=1+2+3+4+5+6+7+a{n}", bound=SEARCHES, kind="7 numbers"),
    Asked(f"/api/suggestions?{EXAMS}", bound=SEARCHES, kind="13 exams"),
    Asked(
        f"/api/suggestions?{EXAMS}",
        bound=SEARCHES,
        kind="13 exams, Accept: application/json",
        headers=JSON,
    ),
    Asked(f"/api/suggestions?{MISTYPED}", bound=SEARCHES, kind="3 unknown words"),
    Asked("/compra?por_pagina=18&buscar=a{n}", head=True),
    Asked("/compra?asignatura=99999{n}", kind="a full page"),
    Asked("/asignaturas/{university}/{slug}", head=True),
    Asked("/asignaturas/{university}/{slug}", kind="Origin", headers=ORIGIN),
    Asked("/asignaturas/{university}/nada-99999{n}", kind="unknown subject"),
)
# The most carts that a page or a download shows are 100 and 200: strangers can make more.
CARTS = 220
SIGNED_IN = (
    Asked(
        "/mi-cuenta",
        bound="300 in 10 minutes and student, 3,000 of a visitor",
        kind=f"signed in, {CARTS} carts",
        is_signed_in=True,
    ),
    Asked(
        "/mi-cuenta/mis-datos.json",
        bound="5 an hour and student",
        kind=f"signed in, {CARTS} of the largest carts",
        is_signed_in=True,
    ),
)
ADDRESSES = (*map(Asked, (*PAGES, *ANSWERS)), *DEAR, *ODD, *SENT, *SIGNED_IN)


def address_rows() -> list[Row]:
    """The milliseconds of web process and PostgreSQL together for one request to each address."""
    fill_shop()
    Student.objects.create(email="student@example.com")
    User.objects.create_user("carla", password="a-password-of-carla", is_staff=True)  # noqa: S106
    subject = Subject.objects.on_sale().select_related("degree__university")[0]
    _, _, university, slug = subject.page_path.split("/")
    degree = subject.degree.page_path.rpartition("/")[2]
    known = {
        "university": university,
        "slug": slug,
        "degree": degree,
        **_full_cart(),
        **_open_cart(),
    }
    known["session"] = _session_of_student_with_carts()
    shared = {"RATE_LIMIT_SCALE": "10", "STUDENT_LOGIN": "true", "TRUSTED_PROXIES": "1"}
    with running_shop(**shared) as shop:
        rows = [_row(asked, shop, known) for asked in ADDRESSES if not _is_of_sign_in(asked)]
    with running_shop(**shared, **_sign_in_to_moodle()) as shop:
        rows += [_row(asked, shop, known) for asked in ADDRESSES if _is_of_sign_in(asked)]
    return sorted(rows, key=lambda row: -row.value)


def _full_cart() -> dict[str, str]:
    """The values of `FULL_CART`, by the field's name, as JSON."""
    subjects = list(Subject.objects.on_sale().order_by("pk")[:MOST_LINES])
    items = tuple(CheckoutItem(subject.pk) for subject in subjects)
    offer = offer_for(Cart(items, PaymentType.FULL))
    rows = [
        {
            "subject_id": subject.pk,
            "lesson_ids": [],
            "subject_price": float(subject.final_price),
            "lesson_prices": [],
        }
        for subject in subjects
    ]
    return {"items": json.dumps(rows), "total_amount": str(offer.total_cents / 100)}


def _open_cart() -> dict[str, str]:
    """The number and the token of an unpaid order with as many lines as the shop takes."""
    student = Student.objects.create(email="cart@example.com")
    cart = Order.objects.create(
        student=student, email=student.email, payment_type=PaymentType.FULL, total_amount=1
    )
    OrderLine.objects.bulk_create(
        OrderLine(order=cart, subject=subject, name=subject.name, price=1, list_price=1)
        for subject in Subject.objects.on_sale()[:MOST_LINES]
    )
    with override_settings(SECRET_KEY=PRODUCTION["SECRET_KEY"]):
        return {"cart": str(cart.pk), "key": cart.auth_token}


def _session_of_student_with_carts() -> str:
    """The key of a session of the shop, and of a student in whose name many carts were made."""
    student = Student.objects.create(email="many@example.com")
    carts = Order.objects.bulk_create(
        Order(student=student, email=student.email, total_amount=1, idempotency_id=f"{n:032x}")
        for n in range(CARTS)
    )
    subjects = Subject.objects.on_sale()[:MOST_LINES]
    OrderLine.objects.bulk_create(
        (
            OrderLine(order=cart, subject=subject, name=subject.name, price=1, list_price=1)
            for cart in carts
            for subject in subjects
        ),
        batch_size=1000,
    )
    text = LegalText.objects.current(LegalText.Kind.TERMS)
    Consent.objects.bulk_create(
        Consent(student=student, kind=kind, legal_text=text, wording="Acepto", order_id=cart.pk)
        for cart in carts
        for kind in Consent.Kind.values
    )
    with override_settings(SECRET_KEY=PRODUCTION["SECRET_KEY"]):
        request = HttpRequest()
        request.session = SessionStore()
        sign_in(request, student)
        request.session.save()
    return request.session.session_key or ""


def _is_of_sign_in(asked: Asked) -> bool:
    """Whether the address exists only while the shop signs students in to Moodle."""
    return asked.path.startswith(("/oidc/", "/aula/entrar", "/.well-known/openid"))


def _sign_in_to_moodle() -> dict[str, str]:
    """No address asks Moodle for a stranger, so there is none."""
    # Imported here: the tests that read ADDRESSES spare the time of a cryptographic package.
    from apps.classroom.one_sign_in.signing_key import write_new_key

    key = settings.VAR_DIR / "bench-oidc-key.pem"
    write_new_key(key)
    return {
        "CLASSROOM": "moodle",
        "MOODLE_URL": MOODLE,
        "MOODLE_TOKEN": "x",
        "CLASSROOM_SIGN_IN": "true",
        "OIDC_CLIENT_SECRET": OIDC_SECRET,
        "OIDC_KEY_FILE": str(key),
    }


def _row(asked: Asked, shop: Server, known: dict[str, str]) -> Row:
    session = requests.Session()
    token = ""
    if asked.is_signed_in:
        session.cookies.set("sessionid", known["session"])
    if asked.form:
        session.get(shop.url + asked.path, timeout=60)
        token = session.cookies.get("csrftoken") or ""
    statuses = set()

    def ask(number: int) -> None:
        statuses.add(_ask(asked, session, shop, known, number, token))

    web_ms, database_ms = shop.cpu_ms_with_database(ask, REQUESTS)
    note = f"{', '.join(map(str, sorted(statuses)))}; {web_ms:.3g} and {database_ms:.3g} ms"
    total = web_ms + database_ms
    return Row(
        asked.name, total, "ms of CPU", MOST_MS, f"{note}; {asked.bound}" if asked.bound else note
    )


def _ask(
    asked: Asked, session: requests.Session, shop: Server, known: dict[str, str], n: int, token: str
) -> int:
    """Send one request; the status of its answer. No page has been rendered for its host."""

    def filled(text: str) -> str:
        for name, value in {**known, "n": str(n)}.items():
            text = text.replace(f"{{{name}}}", value)
        return text

    # Each request is of another visitor: the limits are not what is measured.
    visitor = ".".join(str(part) for part in secrets.token_bytes(3))
    host = f"127.0.0.1:{1024 + secrets.randbelow(64_000)}"
    options: dict[str, Any] = {"headers": {"Host": host, "X-Forwarded-For": f"10.{visitor}"}}
    if asked.file:
        data = {name: filled(str(value)) for name, value in asked.body.items()}
        options |= {"data": data, "files": {"attachment": ("pec.pdf", asked.file)}}
    elif asked.body is not None:
        text = json.dumps(asked.body)
        for name in ("items", "total_amount"):
            text = text.replace(f'"{name}": "{FULL_CART}"', f'"{name}": {known[name]}')
        options["data"] = filled(text).encode()
        options["headers"]["Content-Type"] = "application/json"
    elif asked.form:
        fields = {name: filled(value) for name, value in asked.form.items()}
        options["data"] = {**fields, "csrfmiddlewaretoken": token}
    url = f"{shop.url}{filled(asked.path)}"
    # nginx compresses nothing: the shop does.
    options["headers"] |= {"Accept-Encoding": "gzip", **asked.headers}
    answer = session.request(asked.method, url, allow_redirects=False, timeout=60, **options)
    return answer.status_code

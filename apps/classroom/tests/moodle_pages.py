"""The pages of the fake Moodle: who is signed in, their courses, and its plugin auth_oauth2.

The shop signs users in as it does at a real one, with the same settings and the same script in
"HTML adicional" (`setup_script.sign_in_plan`). The steps are those of Moodle 4.5.
"""

import html
import json
import secrets
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import requests

if TYPE_CHECKING:
    from apps.classroom.tests.moodle_server import FakeMoodle

ISSUER_ID = 1
COOKIE = "MoodleSession"
TIMEOUT_S = 30
FIRST_PAGE = "/my/"
LOGIN = "/login/index.php"
CALLBACK = "/admin/oauth2callback.php"


@dataclass
class Session:
    user: int | None = None
    wants: str = FIRST_PAGE
    sesskey: str = field(default_factory=lambda: secrets.token_urlsafe(8))


@dataclass
class Answer:
    body: str = ""
    location: str = ""
    status: int = 200


class MoodlePages:
    """`plan` is what setup.php gets for the sign-in, `secret` that of the shop's client."""

    def __init__(self, moodle: "FakeMoodle", plan: dict[str, Any], secret: str) -> None:
        self.moodle, self.plan, self.secret = moodle, plan, secret
        self.sessions: dict[str, Session] = {}
        # The users whom Moodle has linked, by the user name that the shop has named.
        self.linked: dict[str, int] = {}

    def visit(self, target: str, form: dict[str, str] | None, cookie: str) -> tuple[Answer, str]:
        """Answer a GET, or the POST of a form; also returns the visitor's session cookie."""
        if cookie not in self.sessions:
            cookie = secrets.token_urlsafe(16)
            self.sessions[cookie] = Session()
        address = urlsplit(target)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        pages = {
            LOGIN: self._login,
            "/auth/oauth2/login.php": self._to_shop,
            CALLBACK: self._from_shop,
            "/login/logout.php": self._sign_out,
            "/": self._front_page,
            FIRST_PAGE: self._courses,
            "/course/view.php": self._course,
        }
        page = pages.get(address.path)
        if page is None:
            return Answer(status=404), cookie
        session = self.sessions[cookie]
        if session.user is None and address.path in (FIRST_PAGE, "/course/view.php"):
            session.wants = target
            return Answer(location=LOGIN), cookie
        return page(session, {**query, **(form or {})}), cookie

    # ------------------------------------------------------------------ in and out

    def _login(self, session: Session, fields: dict[str, str], problem: str = "") -> Answer:
        if "username" in fields:
            for user in self.moodle.users.values():
                if (user["username"], user["password"]) == (
                    fields["username"], fields.get("password"),
                ):  # fmt: skip
                    return self._let_in(session, user)
            problem = "Usuario o contraseña incorrectos."
        link = {"id": ISSUER_ID, "wantsurl": session.wants, "sesskey": session.sesskey}
        alert = f'<p id="loginerrormessage" role="alert">{html.escape(problem)}</p>'
        return self._page(
            session,
            f"""<h1>Aula de imitación</h1>{alert if problem else ""}
            <form method="post" action="{LOGIN}">
            <label>Usuario <input name="username"></label>
            <label>Contraseña <input name="password" type="password"></label>
            <button>Acceder</button></form>
            <p><a href="/auth/oauth2/login.php?{html.escape(urlencode(link))}">{
                html.escape(self.plan["label"])
            }</a></p>""",
        )

    def _let_in(self, session: Session, user: dict[str, Any]) -> Answer:
        if user["suspended"] or user["deleted"]:
            return self._login(session, {}, "Esta cuenta no está activa.")
        session.user = user["id"]
        return Answer(location=session.wants)

    def _to_shop(self, session: Session, fields: dict[str, str]) -> Answer:
        """The link of the login page, which needs the key of Moodle's own session."""
        if fields.get("sesskey") != session.sesskey:
            return Answer(status=403)
        asked = {
            "client_id": self.plan["client_id"],
            "response_type": "code",
            "redirect_uri": f"{self.moodle.url}{CALLBACK}",
            "state": session.sesskey,
            "scope": "openid profile email",
        }
        endpoint = self.plan["endpoints"]["authorization_endpoint"]
        return Answer(location=f"{endpoint}?{urlencode(asked)}")

    def _from_shop(self, session: Session, fields: dict[str, str]) -> Answer:
        """The shop's answer: Moodle exchanges the code, and asks who that is."""
        if fields.get("state") != session.sesskey:
            return Answer(status=403)
        if "code" not in fields:
            return self._login(session, {}, f"La tienda no te deja entrar: {fields.get('error')}.")
        endpoints = self.plan["endpoints"]
        exchanged = requests.post(
            endpoints["token_endpoint"],
            data={
                "grant_type": "authorization_code",
                "code": fields["code"],
                "redirect_uri": f"{self.moodle.url}{CALLBACK}",
            },
            auth=(self.plan["client_id"], self.secret),
            timeout=TIMEOUT_S,
        )
        if exchanged.status_code != 200:
            return self._login(session, {}, "La tienda no acepta el código.")
        named = requests.get(
            endpoints["userinfo_endpoint"],
            headers={"Authorization": f"Bearer {exchanged.json()['access_token']}"},
            timeout=TIMEOUT_S,
        ).json()
        user = self._linked_user({self.plan["mappings"].get(key): named[key] for key in named})
        if user is None:
            return self._login(session, {}, "No hay ninguna cuenta con ese correo.")
        return self._let_in(session, user)

    def _linked_user(self, claims: dict[str | None, str]) -> dict[str, Any] | None:
        """The user linked before, or the first one with the address, who is linked unasked."""
        name, users = claims["username"], self.moodle.users
        if name not in self.linked:
            found = [user["id"] for user in users.values() if user["email"] == claims["email"]]
            if not found:
                return None
            self.linked[name] = found[0]
        return users.get(self.linked[name])

    def _sign_out(self, session: Session, fields: dict[str, str]) -> Answer:
        if fields.get("sesskey") == session.sesskey:
            session.user, session.wants = None, FIRST_PAGE
            session.sesskey = secrets.token_urlsafe(8)
            return Answer(location="/")
        return self._page(
            session,
            f"""<p>¿Quieres salir del aula?</p><form method="post" action="/login/logout.php">
            <input type="hidden" name="sesskey" value="{session.sesskey}">
            <button>Continuar</button></form>""",
        )

    # ------------------------------------------------------------------ what a student sees

    def _front_page(self, session: Session, fields: dict[str, str]) -> Answer:
        return self._page(session, f'<h1>Aula de imitación</h1><a href="{LOGIN}">Acceder</a>')

    def _courses(self, session: Session, fields: dict[str, str]) -> Answer:
        assert session.user is not None
        rows = [
            f'<li><a href="/course/view.php?id={course["id"]}">'
            f"{html.escape(course['fullname'])}</a></li>"
            for course in self._courses_of(session.user)
        ]
        return self._page(
            session, f"<h1>Mis cursos</h1><ul>{''.join(rows)}</ul>{self._way_out(session)}"
        )

    def _course(self, session: Session, fields: dict[str, str]) -> Answer:
        """A course, whose activities are marked as done with a button."""
        assert session.user is not None
        course, user = int(fields.get("id", 0)), session.user
        if all(found["id"] != course for found in self._courses_of(user)):
            return Answer(status=403)
        self.moodle.last_access[user, course] = int(time.time())
        activities = self.moodle.activities.get(course, [])
        if fields.get("done", "").isdigit() and int(fields["done"]) < len(activities):
            activities[int(fields["done"])][1].add(user)
        rows = [
            f"<li>PEC {number + 1}: {'hecha' if user in done_by else _mark(course, number)}</li>"
            for number, (_, done_by) in enumerate(activities)
        ]
        name = html.escape(self.moodle.courses[course]["fullname"])
        return self._page(
            session,
            f"<h1>{name}</h1><ul>{''.join(rows)}</ul><a href='{FIRST_PAGE}'>Mis cursos</a>",
        )

    def _courses_of(self, user: int) -> list[dict[str, Any]]:
        return list(self.moodle.core_enrol_get_users_courses(str(user), "0"))

    def _way_out(self, session: Session) -> str:
        assert session.user is not None
        user = self.moodle.users[session.user]
        return (
            f"<p>Has entrado como <b>{html.escape(user['email'])}</b>. "
            f'<a href="/login/logout.php?sesskey={quote(session.sesskey)}">Cerrar sesión</a></p>'
        )

    def _page(self, session: Session, body: str) -> Answer:
        kind = "" if session.user else ' class="notloggedin"'
        settings = f"var M = {{cfg: {json.dumps({'wwwroot': self.moodle.url})}}};"
        script = self.plan["script"].replace("ISSUER_ID", str(ISSUER_ID))
        return Answer(
            '<!doctype html><html lang="es"><meta charset="utf-8"><title>Aula de imitación</title>'
            f"<body{kind}><script>{settings}</script>{body}{script}</body></html>"
        )


def _mark(course: int, number: int) -> str:
    return (
        f'<form method="post" action="/course/view.php?id={course}">'
        f'<button name="done" value="{number}">Marcar como hecha</button></form>'
    )

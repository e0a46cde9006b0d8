"""A fake Moodle server with Moodle's REST protocol, including errors with status 200.

It answers as Moodle 4.5 does, without debugging: tests/contract/test_classroom.py runs the same
against both. The error codes and messages are taken from Moodle's own `externallib.php` files.
"""

import copy
import fnmatch
import hashlib
import html
import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

from apps.classroom.tests.moodle_pages import COOKIE, MoodlePages

TOKEN = "0123456789abcdef0123456789abcdef"
POLICY = "Passwords must have at least 1 special character(s) such as as *, -, or #."
WEB_SERVICE = "/webservice/rest/server.php"
FRONT_PAGE = 1
MANAGER, TEACHER, STUDENT = 1, 3, 5


def nothing() -> None:
    return


class MoodleException(Exception):
    def __init__(self, exception: str, errorcode: str, message: str) -> None:
        self.body = {"exception": exception, "errorcode": errorcode, "message": message}


def invalid() -> MoodleException:
    """Without debugging Moodle does not say which value it refuses."""
    return MoodleException(
        "core\\exception\\invalid_parameter_exception",
        "invalidparameter",
        "Invalid parameter value detected",
    )


def moodle_error(code: str, message: str) -> MoodleException:
    return MoodleException("core\\exception\\moodle_exception", code, message)


class FakeMoodle:
    """Users, courses, roles and enrolments, and switches for failures.

    With `drop_answers` a call is executed but gets no response. With `down` the server answers an
    HTML page with status 503, with `moved_to` a redirect. The functions in `before` and `after` run
    around a call and may block.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users: dict[int, dict[str, Any]] = {}
        self.courses: dict[int, dict[str, Any]] = {}
        self.enrolments: dict[tuple[int, int], dict[str, Any]] = {}
        # Roles in the system (course None) and in courses.
        self.roles: set[tuple[int, int | None, int]] = set()
        self.administrators: set[int] = set()
        # The groups of courses: (course, name) -> (group, users).
        self.groups: dict[tuple[int, str], tuple[int, set[int]]] = {}
        self.manages_groups = True
        # The activities of a course, each with its tracking and the users who have completed it,
        # and the last visit of each user to a course.
        self.activities: dict[int, list[tuple[int, set[int]]]] = {}
        self.last_access: dict[tuple[int, int], int] = {}
        self.sees_progress = True
        self.calls: list[str] = []
        self.drop_answers = 0
        self.down = False
        self.services_are_off = False
        self.moved_to = ""
        # Since 3.10 a failed update is a warning instead of an error.
        self.warns_instead = True
        self.hides_usernames = False
        self.sees_hidden_courses = True
        self.before: dict[str, Callable[[], object]] = {}
        self.after: dict[str, Callable[[], object]] = {}
        self.url = ""
        # With it, visitors have pages, too (moodle_pages.py).
        self.pages: MoodlePages | None = None
        self._last_user, self._last_course = 999, 99

    # ---------------------------------------------------------------- what administrators do

    def add_course(self, shortname: str, idnumber: str = "", *, visible: bool = True) -> int:
        self._last_course += 1
        self.courses[self._last_course] = {
            "id": self._last_course,
            "shortname": shortname,
            "fullname": f"Curso {shortname}",
            "idnumber": idnumber,
            "visible": int(visible),
            "enablecompletion": 1,
        }
        return self._last_course

    def add_activity(self, course_id: int, *done_by: int, tracking: int = 1) -> None:
        """An activity that these users have completed. Tracking 0: nobody completes it."""
        self.activities.setdefault(course_id, []).append((tracking, set(done_by)))

    def delete_course(self, course_id: int) -> None:
        del self.courses[course_id]
        for user, course in list(self.enrolments):
            if course == course_id:
                del self.enrolments[user, course]
        self.roles = {row for row in self.roles if row[1] != course_id}

    def add_user(self, **fields: Any) -> int:
        user_id = int(fields.get("id", self._last_user + 1))
        self._last_user = max(self._last_user, user_id)
        self.users[user_id] = {
            "id": user_id,
            "idnumber": "",
            "auth": "manual",
            "suspended": 0,
            "deleted": 0,
            "confirmed": 1,
            "lang": "en",
            "maildisplay": 2,
            "firstname": "",
            "lastname": "",
            **fields,
        }
        return user_id

    def delete_user(self, user_id: int) -> None:
        """As Moodle's delete_user(): the row stays, with another address and user name."""
        user = self.users[user_id]
        self.users[user_id] = {
            **user,
            "deleted": 1,
            "username": f"{user['email']}.{int(time.time())}",
            "email": hashlib.md5(user["username"].encode()).hexdigest(),
            "idnumber": "",
        }
        for key in [key for key in self.enrolments if key[0] == user_id]:
            del self.enrolments[key]
        self.roles = {row for row in self.roles if row[0] != user_id}

    def assign_role(self, user_id: int, role: int, course_id: int | None = None) -> None:
        self.roles.add((user_id, course_id, role))

    def enrol(self, user_id: int, course_id: int, role: int = STUDENT, **fields: Any) -> None:
        self.enrolments[user_id, course_id] = {
            "role": role,
            "timeend": 0,
            "suspended": False,
            **fields,
        }
        self.assign_role(user_id, role, course_id)

    # ------------------------------------------------------------------------------------

    def answer(self, token: str, function: str, params: dict[str, Any]) -> Any:
        if token != TOKEN:
            raise MoodleException(
                "core\\exception\\moodle_exception",
                "invalidtoken",
                "Invalid token - token not found",
            )
        method = getattr(self, function, None)
        if method is None or "_" not in function:
            raise MoodleException(
                "dml_missing_record_exception",
                "invalidrecord",
                "Can't find data record in database table external_functions.",
            )
        self.calls.append(function)
        # One transaction for a call: it succeeds or fails as a whole.
        before = copy.deepcopy((self.users, self.enrolments, self.roles, self.groups))
        try:
            return method(**params)
        except MoodleException:
            self.users, self.enrolments, self.roles, self.groups = before
            raise

    # ------------------------------------------------------------- web service functions

    def core_user_get_users_by_field(self, field: str, values: list[str]) -> list[dict[str, Any]]:
        if field not in ("id", "idnumber", "username", "email"):
            raise invalid()
        # Also deleted users, and with the capitals of the stored value.
        found = [user for user in self.users.values() if str(user[field]) in values]
        return [shown for user in found if (shown := self._details(user)).get(field)]

    def core_user_get_users(self, criteria: list[dict[str, str]]) -> dict[str, Any]:
        [wanted] = criteria
        assert wanted["key"] == "email"
        pattern = _glob(wanted["value"].lower())
        users = [
            self._details(user)
            for user in self.users.values()
            if not user["deleted"] and fnmatch.fnmatchcase(user["email"].lower(), pattern)
        ]
        return {"users": users, "warnings": []}

    def _details(self, user: dict[str, Any]) -> dict[str, Any]:
        """As in Moodle's user_get_user_details: without empty fields."""
        shown = {key: user[key] for key in ("id", "email", "firstname", "lastname")}
        if user["idnumber"]:
            shown["idnumber"] = user["idnumber"]
        # These are for roles that may see all details of a user.
        if not self.hides_usernames:
            shown |= {"username": user["username"], "auth": user["auth"], "lang": user["lang"]}
            shown["confirmed"] = bool(user["confirmed"])
        return {**shown, "suspended": bool(user["suspended"])}

    def core_user_create_users(self, users: list[dict[str, Any]]) -> list[dict[str, Any]]:
        created = []
        for user in users:
            for key in ("username", "firstname", "lastname", "email"):
                if not user.get(key):
                    raise invalid()
            if not re.fullmatch(r"[a-z0-9_.@-]+", user["username"]):
                raise invalid()
            if any(re.search(r"<\S", user[key]) for key in ("firstname", "lastname")):
                raise invalid()
            if user.get("auth", "manual") not in ("manual", "email", "nologin", "oauth2"):
                raise invalid()
            if user.get("lang", "en") != "en" or len(user["email"]) > 100:
                raise invalid()
            if any(other["username"] == user["username"] for other in self.users.values()):
                raise invalid()
            if self._has_address(user["email"]):
                raise invalid()
            self._check_password(user["password"])
            user_id = self.add_user(**{**user, "maildisplay": int(user.get("maildisplay", 2))})
            created.append({"id": user_id, "username": user["username"]})
        return created

    def _has_address(self, email: str, but_for: int = 0) -> bool:
        return any(
            user["email"].lower() == email.lower() and user["id"] != but_for
            for user in self.users.values()
        )

    def core_user_update_users(self, users: list[dict[str, Any]]) -> Any:
        warnings = []
        for user in users:
            there = self.users.get(int(user["id"]))
            refusal = self._update_refusal(there, user)
            if refusal:
                code, message = refusal
                if not self.warns_instead:
                    raise moodle_error(code, message)
                warnings.append(
                    {
                        "item": "user",
                        "itemid": int(user["id"]),
                        "warningcode": code,
                        "message": message,
                    }
                )
                continue
            assert there is not None
            if "password" in user:
                try:
                    self._check_password(user["password"])
                except MoodleException:
                    if not self.warns_instead:
                        raise
                    # Moodle puts the policy's text into the warning's code, which must be a word.
                    raise MoodleException(
                        "core\\exception\\invalid_response_exception",
                        "invalidresponse",
                        "Invalid response value detected",
                    ) from None
                if there["auth"] in ("nologin", "oauth2"):
                    # Moodle keeps no password for them, and says nothing.
                    user = {key: value for key, value in user.items() if key != "password"}
            there.update({**user, "id": there["id"]})
        return {"warnings": warnings} if self.warns_instead else None

    def _update_refusal(
        self, there: dict[str, Any] | None, user: dict[str, Any]
    ) -> tuple[str, str] | None:
        if there is None:
            return "invaliduserid", "Invalid user ID"
        if there["id"] in self.administrators:
            return "usernotupdatedadmin", "Cannot update admin accounts"
        if there["deleted"]:
            return "usernotupdateddeleted", "User is a deleted user"
        if "email" in user and self._has_address(user["email"], but_for=there["id"]):
            return "useremailduplicate", "Duplicate email address"
        name = user.get("username")
        others = (row for row in self.users.values() if row["id"] != there["id"])
        if name and any(row["username"] == name for row in others):
            return "dmlwriteexception", "Error writing to database"
        return None

    def enrol_manual_enrol_users(self, enrolments: list[dict[str, Any]]) -> None:
        for enrolment in enrolments:
            course, user_id = int(enrolment["courseid"]), int(enrolment["userid"])
            if course not in self.courses:
                raise invalid()
            self._enter(course)
            user = self.users.get(user_id)
            if user is None:
                raise moodle_error("invaliduser", "Invalid user")
            if user["deleted"]:
                raise moodle_error("userdeleted", "The user account has been deleted")
            if int(enrolment["roleid"]) != STUDENT:
                raise moodle_error(
                    "wsusercannotassign",
                    f"You don't have the permission to assign this role ({enrolment['roleid']}) to "
                    f"this user ({user_id}) in this course({course}).",
                )
            self.enrol(
                user_id,
                course,
                timeend=int(enrolment.get("timeend", 0)),
                suspended=bool(int(enrolment.get("suspend", 0))),
            )

    def enrol_manual_unenrol_users(self, enrolments: list[dict[str, Any]]) -> None:
        for enrolment in enrolments:
            course, user_id = int(enrolment["courseid"]), int(enrolment["userid"])
            if course not in self.courses:
                raise MoodleException(
                    "dml_missing_record_exception",
                    "invalidrecord",
                    "Can't find data record in database table course.",
                )
            self._enter(course)
            user = self.users.get(user_id)
            if user is None:
                raise moodle_error("invaliduser", "Invalid user")
            if user["deleted"]:
                raise moodle_error("userdeleted", "The user account has been deleted")
            if self.enrolments.pop((user_id, course), None):
                self.roles = {row for row in self.roles if row[:2] != (user_id, course)}
                for (where, _), (_, members) in self.groups.items():
                    if where == course:
                        members.discard(user_id)

    def core_group_get_course_groups(self, courseid: str) -> list[dict[str, Any]]:
        self._manage_groups(int(courseid))
        return [
            {"id": group, "courseid": course, "name": html.escape(name, quote=False)}
            for (course, name), (group, _) in self.groups.items()
            if course == int(courseid)
        ]

    def core_group_create_groups(self, groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
        created = []
        for group in groups:
            key = int(group["courseid"]), group["name"]
            if key in self.groups or not group["name"].strip() or "<" in group["name"]:
                raise invalid()
            self._manage_groups(key[0])
            self.groups[key] = 1 + len(self.groups), set()
            created.append({"id": self.groups[key][0], "name": group["name"]})
        return created

    def core_group_add_group_members(self, members: list[dict[str, Any]]) -> None:
        for course, user, there in self._memberships(members):
            if (user, course) not in self.enrolments:
                raise invalid()
            there.add(user)

    def core_group_delete_group_members(self, members: list[dict[str, Any]]) -> None:
        for _, user, there in self._memberships(members):
            there.discard(user)

    def _memberships(self, members: list[dict[str, Any]]) -> Iterator[tuple[int, int, set[int]]]:
        for member in members:
            group = int(member["groupid"])
            [found] = [
                (course, there) for (course, _), (pk, there) in self.groups.items() if pk == group
            ]
            self._manage_groups(found[0])
            yield found[0], int(member["userid"]), found[1]

    def _manage_groups(self, course: int) -> None:
        if course not in self.courses:
            raise invalid()
        self._enter(course)
        if not self.manages_groups:
            raise moodle_error(
                "nopermissions",
                "Sorry, but you do not currently have permissions to do that (Manage groups).",
            )

    def _enter(self, course: int) -> None:
        """The token's own access to the course."""
        if not self.courses[course]["visible"] and not self.sees_hidden_courses:
            raise MoodleException(
                "core\\exception\\require_login_exception",
                "requireloginerror",
                "Course or activity not accessible. (Course is hidden)",
            )

    def core_enrol_get_users_courses(self, userid: str, returnusercount: str) -> list[Any]:
        """Only the courses that the user can enter now."""
        now, user_id = time.time(), int(userid)
        return [
            {**self.courses[course], "lastaccess": self.last_access.get((user, course))}
            for (user, course), row in self.enrolments.items()
            if user == user_id
            and not row["suspended"]
            and not 0 < row["timeend"] <= now
            and (self.courses[course]["visible"] or self._roles(user, course) - {STUDENT})
        ]

    def core_completion_get_activities_completion_status(
        self, courseid: str, userid: str
    ) -> dict[str, Any]:
        course, user_id = int(courseid), int(userid)
        if course not in self.courses:
            raise invalid()
        self._enter(course)
        if not self.sees_progress:
            raise moodle_error(
                "nopermissions",
                "Sorry, but you do not currently have permissions to do that (View activity "
                "completion reports).",
            )
        statuses = [
            {"cmid": number, "tracking": tracking, "state": int(user_id in done_by)}
            for number, (tracking, done_by) in enumerate(self.activities.get(course, ()), 1)
        ]
        return {"statuses": statuses, "warnings": []}

    def core_user_get_course_user_profiles(self, userlist: list[dict[str, Any]]) -> list[Any]:
        [wanted] = userlist
        user, course = self.users.get(int(wanted["userid"])), int(wanted["courseid"])
        if course not in self.courses:
            raise invalid()
        if user is None or user["deleted"]:
            return []
        self._enter(course)
        roles = [{"roleid": role} for role in sorted(self._roles(user["id"], course))]
        return [{**self._details(user), "roles": roles}]

    def core_enrol_get_enrolled_users_with_capability(
        self, coursecapabilities: list[dict[str, Any]], options: list[Any]
    ) -> list[dict[str, Any]]:
        answer = []
        for wanted in coursecapabilities:
            course = int(wanted["courseid"])
            mighty = {
                user
                for user, where, role in self.roles
                if role in (MANAGER, TEACHER)
                and where in (None, course)
                and (course == FRONT_PAGE or (user, course) in self.enrolments)
            }
            users = [{"id": user} for user in sorted(mighty)]
            answer += [
                {"courseid": course, "capability": name, "users": users}
                for name in wanted["capabilities"]
            ]
        return answer

    def _roles(self, user: int, course: int) -> set[int]:
        return {role for who, where, role in self.roles if (who, where) == (user, course)}

    def core_course_get_courses_by_field(self, field: str, value: str) -> dict[str, Any]:
        found = [
            course
            for course in self.courses.values()
            if str(course[field]) == value and (course["visible"] or self.sees_hidden_courses)
        ]
        return {"courses": found, "warnings": []}

    @staticmethod
    def _check_password(password: str) -> None:
        if not re.search(r"[^A-Za-z0-9]", password):
            # Moodle raises `new moodle_exception($errmsg)`: the text takes the place of the code.
            policy = f"<div>{POLICY}</div>"
            raise MoodleException("core\\exception\\moodle_exception", policy, f"error/{policy}")


def _glob(pattern: str) -> str:
    """A pattern of SQL's LIKE, with a backslash to escape, as one of fnmatch."""
    glob, escaped = "", False
    for character in pattern:
        if not escaped and character == "\\":
            escaped = True
            continue
        wild = {"%": "*", "_": "?"}.get(character)
        glob += (
            wild if wild and not escaped else f"[{character}]" if character in "*?[" else character
        )
        escaped = False
    return glob


def _nested(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    """Decode users[0][email]=… as PHP does; lists are objects with the keys "0", "1"…"""
    tree: dict[str, Any] = {}
    for name, value in pairs:
        head, *rest = re.findall(r"[^\[\]]+", name)
        here = tree
        path = [head, *rest]
        for key in path[:-1]:
            here = here.setdefault(key, {})
        here[path[-1]] = value
    return {key: _lists(value) for key, value in tree.items()}


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {key: _lists(each) for key, each in value.items()}
    if all(key.isdigit() for key in inner):
        return [inner[key] for key in sorted(inner, key=int)]
    return inner


@contextmanager
def running_moodle(moodle: FakeMoodle | None = None, *, port: int = 0) -> Iterator[FakeMoodle]:
    """Serve a new fake Moodle, or this one, on 127.0.0.1."""
    moodle = moodle or FakeMoodle()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._show(None)

        def _show(self, form: dict[str, str] | None) -> None:
            if moodle.pages is None:
                self._say(404, b"", "text/html")
                return
            found = re.search(rf"\b{COOKIE}=([\w-]+)", self.headers.get("Cookie", ""))
            page, cookie = moodle.pages.visit(self.path, form, found[1] if found else "")
            headers = {"Set-Cookie": f"{COOKIE}={cookie}; Path=/; HttpOnly; SameSite=Lax"}
            if page.location:
                headers["Location"] = page.location
            status = 303 if page.location else page.status
            # The visitor may have gone on in the meantime.
            with suppress(ConnectionError):
                self._say(status, page.body.encode(), "text/html; charset=utf-8", headers)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if moodle.pages is not None and not self.path.startswith(WEB_SERVICE):
                self._show(dict(parse_qsl(body)))
                return
            params = _nested(parse_qsl(body, keep_blank_values=True))
            if moodle.moved_to:
                self.send_response(301)
                self.send_header("Location", f"{moodle.moved_to}{self.path}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if moodle.down:
                self._say(503, b"<html>Service Unavailable</html>", "text/html")
                return
            if moodle.services_are_off:
                self._say(403, b"", "text/html")
                return
            token = params.pop("wstoken", "")
            function = params.pop("wsfunction", "")
            assert params.pop("moodlewsrestformat") == "json"
            assert TOKEN not in self.path
            moodle.before.get(function, nothing)()
            with moodle.lock:
                try:
                    answer = moodle.answer(token, function, params)
                except MoodleException as error:
                    answer = error.body
                drop = moodle.drop_answers > 0
                moodle.drop_answers -= drop
            moodle.after.get(function, nothing)()
            if drop:
                self.close_connection = True
                return
            # The client may have been killed in the meantime.
            with suppress(ConnectionError):
                self._say(200, json.dumps(answer).encode(), "application/json")

        def _say(
            self, status: int, body: bytes, kind: str, headers: dict[str, str] | None = None
        ) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    moodle.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield moodle
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

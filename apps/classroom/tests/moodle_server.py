"""A fake Moodle server with Moodle's REST protocol, including errors with status 200.

The error codes and messages are taken from Moodle's own `externallib.php` files.
"""

import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl

TOKEN = "0123456789abcdef0123456789abcdef"
POLICY = "Passwords must have at least 1 special character(s) such as as *, -, or #."


def nothing() -> None:
    return


STUDENT = 5


class MoodleException(Exception):
    def __init__(self, exception: str, errorcode: str, message: str, debuginfo: str = "") -> None:
        self.body = {"exception": exception, "errorcode": errorcode, "message": message}
        if debuginfo:
            self.body["debuginfo"] = debuginfo


def invalid(debuginfo: str) -> MoodleException:
    return MoodleException(
        "invalid_parameter_exception",
        "invalidparameter",
        "Invalid parameter value detected",
        debuginfo,
    )


class FakeMoodle:
    """Users, courses and enrolments, and switches for failures.

    With `drop_answers` a call is executed but gets no response. With `down` the server answers an
    HTML page with status 503. The functions in `before` and `after` run around a call and may
    block.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.users: dict[int, dict[str, Any]] = {}
        self.courses: dict[int, dict[str, Any]] = {}
        self.enrolments: dict[tuple[int, int], dict[str, Any]] = {}
        self.calls: list[str] = []
        self.drop_answers = 0
        self.down = False
        # Since 3.10 a failed update is a warning instead of an error.
        self.warns_instead = False
        self.hides_usernames = False
        self.before: dict[str, Callable[[], object]] = {}
        self.after: dict[str, Callable[[], object]] = {}
        self.url = ""

    def add_course(self, shortname: str, idnumber: str = "") -> int:
        course_id = 100 + len(self.courses)
        self.courses[course_id] = {
            "id": course_id,
            "shortname": shortname,
            "fullname": f"Curso {shortname}",
            "idnumber": idnumber,
        }
        return course_id

    def add_user(self, **fields: Any) -> int:
        user_id = 1000 + len(self.users)
        self.users[user_id] = {"id": user_id, "idnumber": "", **fields}
        return user_id

    def answer(self, token: str, function: str, params: dict[str, Any]) -> Any:
        if token != TOKEN:
            raise MoodleException(
                "moodle_exception", "invalidtoken", "Invalid token - token not found"
            )
        method = getattr(self, function, None)
        if method is None or "_" not in function:
            raise MoodleException(
                "dml_missing_record_exception",
                "invalidrecord",
                "Can't find data record in database table external_functions.",
            )
        self.calls.append(function)
        return method(**params)

    # ------------------------------------------------------------- web service functions

    def core_user_get_users_by_field(self, field: str, values: list[str]) -> list[dict[str, Any]]:
        if field not in ("id", "idnumber", "username", "email"):
            raise invalid(f"field: {field}")
        # As in Moodle's user_get_user_details: empty fields are omitted, and the username is shown
        # only to roles that may see all details of a user.
        shown = ("id", "email", "idnumber", *(() if self.hides_usernames else ("username",)))
        return [
            {key: user[key] for key in shown if user[key]}
            for user in self.users.values()
            if str(user[field]) in values
        ]

    def core_user_create_users(self, users: list[dict[str, Any]]) -> list[dict[str, Any]]:
        created = []
        for user in users:
            for key in ("username", "firstname", "lastname", "email"):
                if not user.get(key):
                    raise invalid(f"Missing required key in single structure: {key}")
            if not re.fullmatch(r"[a-z0-9_.@-]+", user["username"]):
                raise invalid(f"Invalid external api parameter: {user['username']}")
            for key, words in (("username", "Username"), ("email", "Email address")):
                if any(other[key] == user[key] for other in self.users.values()):
                    raise invalid(f"{words} already exists: {user[key]}")
            self._check_password(user["password"])
            user_id = self.add_user(**user)
            created.append({"id": user_id, "username": user["username"]})
        return created

    def core_user_update_users(self, users: list[dict[str, Any]]) -> Any:
        for user in users:
            there = self.users.get(int(user["id"]))
            if there is None:
                raise invalid(f"User id not exist: {user['id']}")
            if "password" in user:
                try:
                    self._check_password(user["password"])
                except MoodleException:
                    if not self.warns_instead:
                        raise
                    # Moodle puts the policy's text into the warning's code, which must be a word.
                    raise MoodleException(
                        "invalid_response_exception",
                        "invalidresponse",
                        "Invalid response value detected",
                    ) from None
            there.update({**user, "id": there["id"]})
        return {"warnings": []} if self.warns_instead else None

    def enrol_manual_enrol_users(self, enrolments: list[dict[str, Any]]) -> None:
        for enrolment in enrolments:
            course, user = int(enrolment["courseid"]), int(enrolment["userid"])
            if int(enrolment["roleid"]) != STUDENT:
                raise MoodleException(
                    "moodle_exception",
                    "wsusercannotassign",
                    f"You don't have the permission to assign this role ({enrolment['roleid']}) to "
                    f"this user ({user}) in this course({course}).",
                )
            if course not in self.courses:
                raise MoodleException(
                    "moodle_exception", "errorcoursecontextnotvalid", "Course context not valid"
                )
            self.enrolments[user, course] = {
                "role": int(enrolment["roleid"]),
                "timeend": int(enrolment.get("timeend", 0)),
                "suspended": bool(int(enrolment.get("suspend", 0))),
            }

    def enrol_manual_unenrol_users(self, enrolments: list[dict[str, Any]]) -> None:
        for enrolment in enrolments:
            if int(enrolment["userid"]) not in self.users:
                raise invalid(f"User id not exist: {enrolment['userid']}")
            self.enrolments.pop((int(enrolment["userid"]), int(enrolment["courseid"])), None)

    def core_course_get_courses_by_field(self, field: str, value: str) -> dict[str, Any]:
        found = [c for c in self.courses.values() if str(c[field]) == value]
        return {"courses": found, "warnings": []}

    @staticmethod
    def _check_password(password: str) -> None:
        if not re.search(r"[^A-Za-z0-9]", password):
            # Moodle raises `new moodle_exception($errmsg)`: the text takes the place of the code.
            policy = f"<div>{POLICY}</div>"
            raise MoodleException("moodle_exception", policy, f"error/{policy}")


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
def running_moodle() -> Iterator[FakeMoodle]:
    moodle = FakeMoodle()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            params = _nested(parse_qsl(body, keep_blank_values=True))
            if moodle.down:
                self._say(503, b"<html>Service Unavailable</html>", "text/html")
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

        def _say(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    moodle.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield moodle
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

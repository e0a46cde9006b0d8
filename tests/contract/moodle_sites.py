"""What the administrator of a Moodle does and sees, at the imitation and at a real one.

The real one is the Moodle of `MOODLE_TEST_URL` and `MOODLE_TEST_TOKEN`. The token in
`MOODLE_TEST_ADMIN_TOKEN` is an administrator's own, of a service with the functions in
admin_functions.py.
"""

import re
import time
from functools import cached_property
from html import unescape
from typing import Any, Protocol
from uuid import uuid4

import requests

from apps.classroom.backends.moodle.client import _flat
from apps.classroom.tests.moodle_server import MANAGER, STUDENT, TEACHER, FakeMoodle

PASSWORD = "De-antes-2026"
SYSTEM, COURSE = "system", "course"
# Moodle's number for an activity that students mark as done themselves.
COMPLETION_BY_HAND = 1


class Site(Protocol):
    def address(self, name: str) -> str:
        """An address that nobody else uses."""

    def add_user(self, email: str, **fields: Any) -> int:
        """A user with the password `PASSWORD`, and the part before the @ as user name."""

    def user(self, user_id: int) -> dict[str, Any]:
        """The user as an administrator sees them."""

    def user_with(self, email: str) -> dict[str, Any] | None: ...
    def change_user(self, user_id: int, **fields: Any) -> None: ...
    def delete_user(self, user_id: int) -> None: ...
    def signs_in(self, username: str, password: str) -> bool: ...
    def add_course(self, name: str) -> dict[str, Any]: ...
    def hide_course(self, course_id: int, visible: int = 0) -> None: ...
    def delete_course(self, course_id: int) -> None: ...
    def make_manager(self, user_id: int) -> None: ...
    def enrol(self, user_id: int, course_id: int, role: int = STUDENT, **fields: int) -> None: ...
    def unenrol(self, user_id: int, course_id: int) -> None: ...

    def access(self, user_id: int, course_id: int) -> tuple[bool, set[int]]:
        """Whether the user can enter the course now, and their roles in it."""

    def groups(self, user_id: int, course_id: int) -> set[str]:
        """The names of the course's groups that the user is in."""

    def visit(self, user_id: int, course_id: int) -> None:
        """The user, whose password is `PASSWORD`, opens the course's page."""

    def add_activity(self, course_id: int) -> int:
        """An activity that each student of the course marks as done. Returns its id."""

    def complete(self, user_id: int, course_id: int, activity_id: int) -> None:
        """The user, whose password is `PASSWORD`, marks the activity as done."""


class ImitationSite:
    def __init__(self, moodle: FakeMoodle) -> None:
        self.moodle = moodle

    def address(self, name: str) -> str:
        return f"{name}@alumna.example"

    def add_user(self, email: str, **fields: Any) -> int:
        username = email.partition("@")[0].lower()
        values = {"username": username, "password": PASSWORD, "email": email, **fields}
        return self.moodle.add_user(**values)

    def user(self, user_id: int) -> dict[str, Any]:
        return self.moodle.users[user_id]

    def user_with(self, email: str) -> dict[str, Any] | None:
        found = (user for user in self.moodle.users.values() if user["email"] == email)
        return next(found, None)

    def change_user(self, user_id: int, **fields: Any) -> None:
        self.moodle.users[user_id] |= fields

    def delete_user(self, user_id: int) -> None:
        self.moodle.delete_user(user_id)

    def signs_in(self, username: str, password: str) -> bool:
        return any(
            (user["username"], user["password"]) == (username, password)
            and not (user["suspended"] or user["deleted"])
            for user in self.moodle.users.values()
        )

    def add_course(self, name: str) -> dict[str, Any]:
        return self.moodle.courses[self.moodle.add_course(name)]

    def hide_course(self, course_id: int, visible: int = 0) -> None:
        self.moodle.courses[course_id]["visible"] = visible

    def delete_course(self, course_id: int) -> None:
        self.moodle.delete_course(course_id)

    def make_manager(self, user_id: int) -> None:
        self.moodle.assign_role(user_id, MANAGER)

    def enrol(self, user_id: int, course_id: int, role: int = STUDENT, **fields: int) -> None:
        suspended = bool(fields.get("suspend"))
        self.moodle.enrol(user_id, course_id, role, suspended=suspended)

    def unenrol(self, user_id: int, course_id: int) -> None:
        row = {"userid": user_id, "courseid": course_id}
        self.moodle.enrol_manual_unenrol_users([row])

    def access(self, user_id: int, course_id: int) -> tuple[bool, set[int]]:
        courses = self.moodle.core_enrol_get_users_courses(str(user_id), "0")
        is_open = any(course["id"] == course_id for course in courses)
        return is_open, self.moodle._roles(user_id, course_id)

    def groups(self, user_id: int, course_id: int) -> set[str]:
        groups = self.moodle.groups.items()
        return {
            name for (where, name), (_, users) in groups if where == course_id and user_id in users
        }

    def visit(self, user_id: int, course_id: int) -> None:
        self.moodle.last_access[user_id, course_id] = int(time.time())

    def add_activity(self, course_id: int) -> int:
        self.moodle.add_activity(course_id)
        return len(self.moodle.activities[course_id])

    def complete(self, user_id: int, course_id: int, activity_id: int) -> None:
        self.visit(user_id, course_id)
        _, done_by = self.moodle.activities[course_id][activity_id - 1]
        done_by.add(user_id)


class RealSite:
    """Cleans up after itself: `clean_up` deletes the users and courses of the test."""

    def __init__(self, url: str, token: str) -> None:
        self.url, self.token = url, token
        self.name = uuid4().hex[:8]
        self.courses: set[int] = set()

    def call(self, function: str, **params: Any) -> Any:
        body = {"wstoken": self.token, "wsfunction": function, "moodlewsrestformat": "json"}
        answer = requests.post(
            f"{self.url}/webservice/rest/server.php",
            data={**body, **dict(_flat(params))},
            timeout=60,
        ).json()
        problem = isinstance(answer, dict) and (answer.get("exception") or answer.get("warnings"))
        assert not problem, f"{function}: {answer}"
        return answer

    def address(self, name: str) -> str:
        return f"{name}@{self.name}.example"

    def add_user(self, email: str, **fields: Any) -> int:
        username = f"{email.partition('@')[0].lower()}.{self.name}"
        names = {"firstname": "Prueba", "lastname": "Contrato"}
        later = {key: fields.pop(key) for key in ("suspended",) if key in fields}
        user = {"username": username, "password": PASSWORD, "email": email, **names, **fields}
        user_id = int(self.call("core_user_create_users", users=[user])[0]["id"])
        if later:
            self.change_user(user_id, **later)
        return user_id

    def user(self, user_id: int) -> dict[str, Any]:
        return self.call("core_user_get_users_by_field", field="id", values=[user_id])[0]

    def user_with(self, email: str) -> dict[str, Any] | None:
        found = self.call("core_user_get_users_by_field", field="email", values=[email])
        return found[0] if found else None

    def change_user(self, user_id: int, **fields: Any) -> None:
        self.call("core_user_update_users", users=[{"id": user_id, **fields}])

    def delete_user(self, user_id: int) -> None:
        self.call("core_user_delete_users", userids=[user_id])

    def signs_in(self, username: str, password: str) -> bool:
        return self._session(username, password) is not None

    def visit(self, user_id: int, course_id: int) -> None:
        session = self._session(self.user(user_id)["username"], PASSWORD)
        assert session
        page = session.get(f"{self.url}/course/view.php?id={course_id}", timeout=60)
        assert page.status_code == 200

    def add_activity(self, course_id: int) -> int:
        # No function of the web service makes one: a manager fills in the form of a page.
        address = f"{self.url}/course/modedit.php"
        which = {"add": "page", "course": course_id, "section": 0}
        form = self._manager.get(address, params=which, timeout=60).text
        tags = [
            dict(re.findall(r'(\w+)="([^"]*)"', tag)) for tag in re.findall("<input[^>]*>", form)
        ]
        hidden = {
            tag["name"]: unescape(tag["value"]) for tag in tags if tag.get("type") == "hidden"
        }
        filled_in = {
            "name": "PEC",
            "page[text]": "Haz los ejercicios.",
            "introeditor[text]": "",
            "availabilityconditionsjson": '{"op":"&","c":[],"showc":[]}',
            "completion": COMPLETION_BY_HAND,
            "visible": 1,
            "groupmode": 0,
            "submitbutton": "Guardar",
        }
        saved = self._manager.post(address, data={**hidden, **filled_in}, timeout=60)
        found = re.search(r"/mod/page/view\.php\?id=(\d+)", saved.url)
        assert found, saved.url
        return int(found[1])

    @cached_property
    def _manager(self) -> requests.Session:
        user_id = self.add_user(self.address("gestora"))
        self.make_manager(user_id)
        session = self._session(self.user(user_id)["username"], PASSWORD)
        assert session
        return session

    def complete(self, user_id: int, course_id: int, activity_id: int) -> None:
        session = self._session(self.user(user_id)["username"], PASSWORD)
        assert session
        page = session.get(f"{self.url}/mod/page/view.php?id={activity_id}", timeout=60).text
        key = re.search(r'"sesskey":"(\w+)"', page)
        assert key
        # The button of the page.
        press = {
            "index": 0,
            "methodname": "core_completion_update_activity_completion_status_manually",
            "args": {"cmid": activity_id, "completed": True},
        }
        service = f"{self.url}/lib/ajax/service.php?sesskey={key[1]}"
        [answer] = session.post(service, json=[press], timeout=60).json()
        assert answer["error"] is False, answer

    def _session(self, username: str, password: str) -> requests.Session | None:
        session = requests.Session()
        page = session.get(f"{self.url}/login/index.php", timeout=60).text
        found = re.search(r'name="logintoken" value="([^"]+)"', page)
        assert found
        form = {"username": username, "password": password, "logintoken": found[1]}
        answer = session.post(
            f"{self.url}/login/index.php", data=form, timeout=60, allow_redirects=False
        )
        where = answer.headers.get("Location", "")
        if "testsession" not in where:
            return None
        session.get(where, timeout=60)
        return session

    def add_course(self, name: str) -> dict[str, Any]:
        shortname = f"{name} {self.name}"
        course = {"fullname": f"Curso {shortname}", "shortname": shortname, "categoryid": 1}
        [created] = self.call("core_course_create_courses", courses=[course])
        self.courses.add(int(created["id"]))
        return {**course, "id": int(created["id"])}

    def hide_course(self, course_id: int, visible: int = 0) -> None:
        self.call("core_course_update_courses", courses=[{"id": course_id, "visible": visible}])

    def delete_course(self, course_id: int) -> None:
        self.courses.discard(course_id)
        self.call("core_course_delete_courses", courseids=[course_id])

    def make_manager(self, user_id: int) -> None:
        role = {"roleid": MANAGER, "userid": user_id, "contextlevel": SYSTEM, "instanceid": 0}
        self.call("core_role_assign_roles", assignments=[role])

    def enrol(self, user_id: int, course_id: int, role: int = STUDENT, **fields: int) -> None:
        row = {"roleid": role, "userid": user_id, "courseid": course_id, **fields}
        self.call("enrol_manual_enrol_users", enrolments=[row])

    def unenrol(self, user_id: int, course_id: int) -> None:
        row = {"userid": user_id, "courseid": course_id}
        self.call("enrol_manual_unenrol_users", enrolments=[row])

    def access(self, user_id: int, course_id: int) -> tuple[bool, set[int]]:
        courses = self.call("core_enrol_get_users_courses", userid=user_id, returnusercount=0)
        profiles = self.call(
            "core_user_get_course_user_profiles",
            userlist=[{"userid": user_id, "courseid": course_id}],
        )
        roles = {int(role["roleid"]) for profile in profiles for role in profile["roles"]}
        return any(course["id"] == course_id for course in courses), roles

    def groups(self, user_id: int, course_id: int) -> set[str]:
        profiles = self.call(
            "core_user_get_course_user_profiles",
            userlist=[{"userid": user_id, "courseid": course_id}],
        )
        groups = [group for profile in profiles for group in profile.get("groups", [])]
        return {unescape(group["name"]) for group in groups}

    def clean_up(self) -> None:
        for course_id in list(self.courses):
            self.delete_course(course_id)
        criteria = [{"key": "email", "value": f"%@{self.name}.example"}]
        answer = self.call("core_user_get_users", criteria=criteria)
        if users := [user["id"] for user in answer["users"]]:
            self.call("core_user_delete_users", userids=users)


__all__ = ["MANAGER", "PASSWORD", "STUDENT", "TEACHER", "ImitationSite", "RealSite", "Site"]

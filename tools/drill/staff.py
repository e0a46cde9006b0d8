"""A member of staff who works in the admin as in a browser."""

import copy
import re

import requests

from tools.dev.processes import SetupError
from tools.drill.shop import Shop

NAME, PASSWORD = "simulacro", "una-clave-de-simulacro"


class Staff:
    """A signed-in session. The account is created if there is none."""

    def __init__(self, shop: Shop, address: str = "") -> None:
        """`address` is that of one web host; without it, nginx's."""
        self._address = address or shop.address
        self._session = requests.Session()
        self._session.headers["Origin"] = shop.address
        account = ("--noinput", "--username", NAME, "--email", "simulacro@example.com")
        shop.host.manage("createsuperuser", *account, env={"DJANGO_SUPERUSER_PASSWORD": PASSWORD})
        answer = self.post("/admin/login/", username=NAME, password=PASSWORD, next="/admin/")
        if "sessionid" not in self._session.cookies:
            raise SetupError(f"El equipo no puede entrar: {answer.status_code} {answer.url}")

    def at(self, address: str) -> "Staff":
        """The same session on another web host."""
        there = copy.copy(self)
        there._address = address
        return there

    def get(self, path: str) -> str:
        return self.download(path).decode()

    def status(self, path: str) -> int:
        """The status of a page; a redirect to the sign-in counts as itself."""
        page = f"{self._address}{path}"
        return self._session.get(page, timeout=60, allow_redirects=False).status_code

    def download(self, path: str) -> bytes:
        return self._session.get(f"{self._address}{path}", timeout=60).content

    def post(
        self, path: str, files: dict[str, tuple[str, bytes]] | None = None, /, **fields: object
    ) -> requests.Response:
        token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', self.get(path))
        data = {**fields, "csrfmiddlewaretoken": token[1] if token else ""}
        return self._session.post(f"{self._address}{path}", data=data, files=files, timeout=60)

    def hidden(self, page: str, name: str) -> str:
        """The value of a hidden field of a page; empty if the page has none."""
        found = re.search(rf'name="{name}" value="([^"]*)"', page)
        return found[1] if found else ""


def make_lost_orders_again(shop: Shop) -> int:
    """Make an order of each payment that has none, on the admin's page. Returns how many."""
    staff = Staff(shop)
    payments = "SELECT id FROM orders_payment WHERE order_id IS NULL AND flag <> ''"
    for (payment,) in shop.database.rows(payments):
        path = f"/admin/recrear/{payment}"
        subjects = re.findall(r'<option value="(\d+)" selected', staff.get(path))
        staff.post(path, subjects=subjects, phone="600000000", confirm="1")
    made = "SELECT count(*) FROM orders_orderevent WHERE kind = 'made_by_staff'"
    return int(str(shop.database.rows(made)[0][0]))

"""The disk is full: the folders of files and mails take nothing more.

Each process gets a mount namespace of its own, with a tiny tmpfs over these folders. It needs no
clean-up, and nothing else on the machine notices it. Who is not root gets a user namespace, too.
"""

import io
import os
import shutil
import subprocess
from functools import partial

import requests
from PIL import Image

from tools.drill.buyer import buy_one_by_one, wait
from tools.drill.count import Outcome, has_access, losses, received
from tools.drill.shop import MONITOR_TOKEN, Shop
from tools.drill.staff import Staff

FLAGS = "-m" if os.geteuid() == 0 else "-rm"
FULL = (
    "unshare {flags} sh -c 'for f in {folders}; do "
    'mount -t tmpfs -o size=4k none "$f" || exit; done; exec "$@"\' -- '
)
FOLDERS = ("private/leads", "pictures", "mail")
SENTENCE = "Ahora mismo no podemos guardar archivos"


def disk_full(shop: Shop) -> Outcome:
    """Uploads get a clear answer, purchases go on, the monitor says it, and mails wait."""
    tried = "disco lleno para archivos, imágenes y correos"
    if not _can_mount():
        return Outcome(tried, "no se probó: este sistema no deja montar nada")
    folders = [shop.host.folder / name for name in FOLDERS]
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)
    full = FULL.format(flags=FLAGS, folders=" ".join(f'"{folder}"' for folder in folders))
    staff = Staff(shop)
    before = len(received(shop))
    shop.host.stop("web", "worker-mail")
    shop.host.start("web", within=full)
    # Without a mail server each mail is a file.
    shop.host.start("worker-mail", within=full, EMAIL_URL="")
    buyers = buy_one_by_one(shop, 3)
    lost = _refusals(shop, staff) + _monitor(shop)
    for buyer in buyers:
        if not wait(partial(has_access, shop, buyer.email), 30):
            lost.append(f"{buyer.email}: sin acceso con el disco lleno")
    waiting = len(received(shop)) - before
    shop.host.stop("web", "worker-mail")
    shop.host.start("web", "worker-mail")
    if _upload(shop).status_code != 200:
        lost.append("con sitio en el disco tampoco se puede subir un archivo")
    lost += losses(shop, buyers)
    return Outcome(
        tried,
        f"subidas rechazadas con una frase, /monitor lo dice; {len(buyers)} compras con acceso, "
        f"{waiting} correos mientras tanto y {len(received(shop)) - before} al haber sitio",
        lost,
    )


def _can_mount() -> bool:
    if shutil.which("unshare") is None:
        return False
    trial = ["unshare", FLAGS, "mount", "-t", "tmpfs", "none", "/tmp"]  # noqa: S108
    return subprocess.run(trial, capture_output=True, check=False).returncode == 0


def _refusals(shop: Shop, staff: Staff) -> list[str]:
    """One sentence for each upload that the shop did not refuse with a message.

    A form of staff keeps what was typed, and says it at its field.
    """
    picture = io.BytesIO()
    Image.effect_noise((800, 800), 90).save(picture, "PNG")
    before = _stored(shop)
    opinion = {"text": "Muy bien", "name": "Ana", "degree": "Economía", "position": "1"}
    answers = {
        ("archivo de un visitante", 503): _upload(shop),
        ("imagen del equipo", 200): staff.post(
            "/admin/pages/testimonial/add/",
            {"photo": ("ana.png", picture.getvalue())},
            **opinion,
        ),
    }
    return [
        f"{what}: {answer.status_code} {answer.text[:150]}"
        for (what, status), answer in answers.items()
        if answer.status_code != status or SENTENCE not in answer.text
    ] + ([] if _stored(shop) == before else ["de una subida rechazada ha quedado la mitad"])


def _upload(shop: Shop) -> requests.Response:
    """A visitor's question with a file of 200 KB."""
    return requests.post(
        f"{shop.address}/api/send-preview-contact",
        data={"email": "pregunta@example.com", "acceptTerms": "true"},
        files={"attachment": ("pec.pdf", b"%PDF-1.4\n" + b"0" * 200_000)},
        headers={"Origin": shop.address},
        timeout=60,
    )


def _monitor(shop: Shop) -> list[str]:
    answer = requests.get(
        f"{shop.address}/monitor",
        headers={"Authorization": f"Bearer {MONITOR_TOKEN}"},
        timeout=60,
    )
    named = answer.json()["problems"]
    return [] if "disk" in named else [f"/monitor no lo dice: {named}"]


def _stored(shop: Shop) -> list[tuple[object, ...]]:
    """How many opinions of staff and attachments of visitors the database has."""
    return shop.database.rows(
        "SELECT count(*) FROM pages_testimonial UNION ALL SELECT count(*) FROM leads_attachment"
    )

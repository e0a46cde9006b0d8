"""The drill of two web hosts with separate disks, which share database, bucket and cache."""

import io
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import requests
from PIL import Image

from tools.dev.bucket_server import NAME, BucketServer, running_bucket
from tools.dev.processes import end, free_port, start
from tools.drill.buyer import Buyer, Crowd, wait
from tools.drill.count import Outcome, losses
from tools.drill.shop import BACKGROUND, Host, Shop
from tools.drill.staff import Staff

TEACHER = "Profesora del Simulacro"
# docs/rules.md, "Catalogue reads and search": a change shows within a second.
SHOWS_WITHIN_S = 1.0
# The limit of promo codes for each address (docs/rules.md, "Rate limits").
PROMO_LIMIT = 20
ATTACHMENT = b"%PDF-1.4 drill"


def two_hosts(shop: Shop) -> Outcome:
    """Each web host sees what the other one has changed, and one of them may be killed."""
    tried = "dos máquinas web con discos separados, una se mata en plena compra"
    if not shop.has_proxy:
        return Outcome(tried, "no se probó: nginx no está instalado")
    # The promo codes' limit is reached after 20 requests.
    with two_web_hosts(shop, RATE_LIMIT_SCALE="1") as (one, two, bucket, cache):
        lost = _uploads_and_changes(shop, one, two, bucket)
        lost += _rate_limit(one, two)
        between = [Buyer(shop, entrances=(one.url, two.url)) for _ in range(3)]
        for buyer in between:
            buyer.buy()
        lost += [
            f"{buyer.email} no ha podido pagar: {buyer.refusals[-1:]}"
            for buyer in between
            if not buyer.paid
        ]
        answers, crowd = _one_killed(shop, one)
        lost += [f"una página fue {status}" for status in answers if status != 200]
        lost += losses(shop, [*between, *crowd.buyers])
    return Outcome(
        tried,
        f"{len(between)} compras empezadas en una y acabadas en la otra; con una muerta, "
        f"{crowd.paid} compras, {crowd.refusals} intentos repetidos y {len(answers)} páginas; "
        f"caché común: {cache}",
        lost,
    )


@contextmanager
def two_web_hosts(shop: Shop, **changes: str) -> Iterator[tuple[Host, Host, BucketServer, str]]:
    """Two web hosts and one for the other processes take over from the shop's only host.

    They share a bucket and, where Valkey or Redis is installed, a cache, of which the name is
    yielded. `changes` are settings of all three.
    """
    with ExitStack() as stack:
        bucket = stack.enter_context(running_bucket())
        cache = stack.enter_context(_running_cache(shop))
        settings = {
            "S3_BUCKET": NAME,
            "S3_ENDPOINT_URL": bucket.url,
            "S3_REGION": "eu",
            "S3_ACCESS_KEY": "key",
            "S3_SECRET_KEY": "secret",
            **({"CACHE_URL": cache} if cache else {}),
            **changes,
        }
        one, two, workers = (
            shop.add_host(name, **settings) for name in ("web-a", "web-b", "workers")
        )
        for host in (one, two, workers):
            host.manage("collectstatic", "--noinput", "--verbosity", "0")
        shop.host.stop()
        workers.start(*BACKGROUND)
        one.start("web")
        two.start("web")
        shop.serve_from(one, two)
        shop.other_hosts = (one, two, workers)
        yield one, two, bucket, cache_program() or "ninguna, no está instalada"
        shop.other_hosts = ()
        for host in (one, two, workers):
            host.stop()
        shop.host.start()
        shop.serve_from(shop.host)


@contextmanager
def _running_cache(shop: Shop) -> Iterator[str]:
    """The address of a Valkey or Redis; empty if neither is installed."""
    program = cache_program()
    if not program:
        yield ""
        return
    port = free_port()
    options = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
    process = start([program, "--port", str(port), *options], shop.host.env, shop.log)
    shop.servers["cache"] = process.pid
    try:
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        del shop.servers["cache"]
        end(process)


def cache_program() -> str:
    """The name of the server of the cache that is installed; empty without one."""
    return next(filter(shutil.which, ("valkey-server", "redis-server")), "")


def _uploads_and_changes(shop: Shop, one: Host, two: Host, bucket: BucketServer) -> list[str]:
    """Staff and a visitor upload on one host; the other one shows it. Sessions are shared."""
    before = requests.get(f"{two.url}/nosotros", timeout=30).text
    staff = Staff(shop, one.url)
    form = {"name": TEACHER, "degree": "Economía", "position": "1", "published": "on"}
    staff.post("/admin/pages/teammember/add/", {"photo": ("foto.png", _picture())}, **form)
    began = time.monotonic()
    page = ""

    def shows() -> bool:
        nonlocal page
        page = requests.get(f"{two.url}/nosotros", timeout=30).text
        return TEACHER in page

    shown, lost = wait(shows, 10), []
    took_s = time.monotonic() - began
    if TEACHER in before or not shown:
        lost.append("lo que el equipo añade en una máquina no sale en la otra")
    # The page that shows it was asked for at most 0.2 s after it could.
    elif took_s > SHOWS_WITHIN_S + 0.5:
        lost.append(f"el cambio tardó {took_s:.1f} s en salir en la otra máquina")
    pictures = re.findall(r"/imagenes/equipo/[^\s\"]+", page)
    sent = [requests.get(f"{two.url}{path}", timeout=30).status_code for path in pictures]
    if not sent or set(sent) != {200}:
        lost.append(f"la foto subida en una máquina no sale en la otra: {sent}")
    lost += _attachment(staff, one, two)
    written = [
        str(path.relative_to(host.folder))
        for host in (one, two)
        for folder in ("pictures", "private")
        for path in (host.folder / folder).rglob("*")
        if path.is_file()
    ]
    if written or not bucket.files:
        lost.append(f"quedan archivos en el disco de una máquina: {written}")
    return lost


def _attachment(staff: Staff, one: Host, two: Host) -> list[str]:
    """A visitor's attachment on one host, downloaded by staff on the other one."""
    answer = requests.post(
        f"{one.url}/api/send-preview-contact",
        data={"email": "visita@example.com", "acceptTerms": "true"},
        files={"attachment": ("pec.pdf", ATTACHMENT)},
        timeout=30,
    )
    # The session of the first host is valid on the second one.
    there = staff.at(two.url)
    found = there.download("/admin/leads/lead/adjunto/1/")
    if answer.status_code != 200 or found != ATTACHMENT:
        return [f"el adjunto no llega a la otra máquina: {answer.status_code} {found[:80]!r}"]
    return []


def _rate_limit(one: Host, two: Host) -> list[str]:
    """One visitor asks both hosts in turn: they count together."""
    statuses = [
        requests.post(
            f"{host.url}/api/validate-promo-code",
            json={"code": "NADA"},
            headers={"X-Forwarded-For": "10.200.0.1, 127.0.0.1"},
            timeout=30,
        ).status_code
        for _ in range(PROMO_LIMIT // 2 + 1)
        for host in (one, two)
    ]
    if 429 in statuses[:PROMO_LIMIT] or statuses[PROMO_LIMIT:] != [429, 429]:
        return [f"las dos máquinas no cuentan juntas: {statuses}"]
    return []


def _one_killed(shop: Shop, one: Host) -> tuple[list[int], Crowd]:
    """One host is killed under load. Returns the statuses of pages asked for meanwhile."""
    answers = []
    with Crowd(shop, threads=3) as crowd:
        crowd.wait_for(2)
        one.kill("web")
        paid = crowd.paid
        deadline = time.monotonic() + 60
        while crowd.paid < paid + 3 and time.monotonic() < deadline:
            answers.append(requests.get(f"{shop.address}/precios", timeout=30).status_code)
            time.sleep(0.3)
        one.start("web")
        crowd.wait_for(2)
    return answers, crowd


def _picture() -> bytes:
    content = io.BytesIO()
    Image.effect_noise((600, 600), 80).convert("RGB").save(content, "PNG")
    return content.getvalue()

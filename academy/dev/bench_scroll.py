"""`make bench`, its last part: "Todas" of a university scrolled from top to bottom in Chromium."""

import json
import os
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlencode

from academy.dev.bootstrap import install_chromium

WIDTH, HEIGHT = 1440, 900
# As with flick after flick of the wheel: some ten screens in a second.
PIXELS_PER_SECOND = 8000
A_LONG_FRAME_MS = 50

# Once the page's own script has come to rest: every frame's length and every long task.
WATCH = """() => {
  window.bench = { frames: [], tasks: [] };
  new PerformanceObserver((list) => {
    window.bench.tasks.push(...list.getEntries().map((entry) => entry.duration));
  }).observe({ type: "longtask" });
  let before = performance.now();
  const frame = (now) => {
    window.bench.frames.push(now - before);
    before = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""
CARDS = "document.getElementsByTagName('article').length"
BELOW = "document.documentElement.scrollHeight - scrollY - innerHeight"


def print_scrolling(site: str) -> None:
    """Scroll through the open university with the most subjects and print how it went."""
    from playwright.sync_api import sync_playwright

    connection = HTTPConnection(site.removeprefix("http://"), timeout=30)
    connection.request("GET", "/api/universities")
    universities = [row for row in json.load(connection.getresponse()) if not row["coming_soon"]]
    largest = max(universities, key=lambda row: row["subjects_count"])
    query = urlencode({"universidad": largest["id"], "por_pagina": "todas"})
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=install_chromium(),
            args=["--no-sandbox"] if os.geteuid() == 0 else [],
        )
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(f"{site}/compra?{query}")
        page.locator("article").first.wait_for()
        page.wait_for_load_state("networkidle")
        browser_side = page.context.new_cdp_session(page)
        browser_side.send("Performance.enable")
        for way in ("leyendo página tras página", "de vuelta, con todas leídas"):
            page.evaluate(WATCH)
            began = _metrics(browser_side)
            down = way.startswith("leyendo")
            _scroll(page, browser_side, down=down, cards=largest["subjects_count"])
            _print(way, page, began, _metrics(browser_side))
        browser.close()


def _scroll(page: Any, browser_side: Any, *, down: bool, cards: int) -> None:
    """To the end of the list, or back; by the gestures that a hand makes."""
    while True:
        left = page.evaluate(BELOW if down else "scrollY")
        if left < 1 and (not down or page.evaluate(CARDS) >= cards):
            return
        browser_side.send(
            "Input.synthesizeScrollGesture",
            {
                **{"x": 700, "y": 450, "speed": PIXELS_PER_SECOND, "gestureSourceType": "mouse"},
                "yDistance": max(left, 100) * (-1 if down else 1),
            },
        )


def _metrics(browser_side: Any) -> dict[str, float]:
    found = browser_side.send("Performance.getMetrics")["metrics"]
    return {metric["name"]: metric["value"] for metric in found}


def _print(way: str, page: Any, began: dict[str, float], ended: dict[str, float]) -> None:
    seen = page.evaluate("window.bench")
    frames, tasks = sorted(seen["frames"]), seen["tasks"]
    layout, style, script = (
        ended[name] - began[name]
        for name in ("LayoutDuration", "RecalcStyleDuration", "ScriptDuration")
    )
    most = frames[len(frames) * 95 // 100]
    long_frames = [frame for frame in frames if frame > A_LONG_FRAME_MS]
    print(
        f"desplazar {page.evaluate(CARDS)} asignaturas {way}:\n"
        f"  {len(frames)} fotogramas, el 95 % por debajo de {most:.0f} ms; "
        f"{len(long_frames)} de más de {A_LONG_FRAME_MS} ms, el peor {frames[-1]:.0f} ms\n"
        f"  {len(tasks)} tareas largas, {sum(tasks):.0f} ms en total; "
        f"hilo principal {ended['TaskDuration'] - began['TaskDuration']:.1f} s, de ellos código "
        f"{script:.1f} s, estilos {style:.1f} s, disposición {layout:.1f} s\n"
        f"  {ended['Nodes']:.0f} nodos, {ended['JSHeapUsedSize'] / 2**20:.0f} MB de JavaScript",
        flush=True,
    )

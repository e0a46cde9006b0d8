"""The last part of `make bench`: Chromium scrolls through all subjects of a university."""

from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import sync_playwright

from apps.catalogue.models import University
from tools.dev.chromium import launch_options

WIDTH, HEIGHT = 1440, 900
PIXELS_PER_SECOND = 8000  # A fast wheel: about ten screens a second.
LONG_FRAME_MS = 50

# Records the length of every frame and of every long task.
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
    """Scroll through the open university with the most subjects and print how smooth it was."""
    largest = University.objects.open().order_by("-subjects_count", "pk")[0]
    query = urlencode({"universidad": largest.pk, "por_pagina": "todas"})
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch_options())
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT})
        page.goto(f"{site}/compra?{query}")
        page.locator("article").first.wait_for()
        devtools = page.context.new_cdp_session(page)
        devtools.send("Performance.enable")
        for down in (True, False):
            page.evaluate(WATCH)
            before = _main_thread_seconds(devtools)
            _scroll(page, devtools, down=down, cards=largest.subjects_count)
            _print(page, down=down, seconds=_main_thread_seconds(devtools) - before)
        browser.close()


def _scroll(page: Any, devtools: Any, *, down: bool, cards: int) -> None:
    """Scroll to the end of the list, or back, with the browser's own gestures."""
    while True:
        left = page.evaluate(BELOW if down else "scrollY")
        if left < 1 and (not down or page.evaluate(CARDS) >= cards):
            return
        gesture = {"x": 700, "y": 450, "speed": PIXELS_PER_SECOND, "gestureSourceType": "mouse"}
        distance = max(left, 100) * (-1 if down else 1)
        devtools.send("Input.synthesizeScrollGesture", {**gesture, "yDistance": distance})


def _main_thread_seconds(devtools: Any) -> float:
    metrics = devtools.send("Performance.getMetrics")["metrics"]
    return float(next(m["value"] for m in metrics if m["name"] == "TaskDuration"))


def _print(page: Any, *, down: bool, seconds: float) -> None:
    frames, tasks = (sorted(page.evaluate(f"window.bench.{name}")) for name in ("frames", "tasks"))
    long_frames = sum(frame > LONG_FRAME_MS for frame in frames)
    print(
        f"desplazar {page.evaluate(CARDS)} asignaturas "
        f"{'leyendo página tras página' if down else 'de vuelta, con todas leídas'}:\n"
        f"  {len(frames)} fotogramas, el 95 % por debajo de {frames[len(frames) * 95 // 100]:.0f} "
        f"ms; {long_frames} de más de {LONG_FRAME_MS} ms, el peor {frames[-1]:.0f} ms\n"
        f"  {len(tasks)} tareas largas, {sum(tasks):.0f} ms en total; "
        f"hilo principal {seconds:.1f} s",
        flush=True,
    )

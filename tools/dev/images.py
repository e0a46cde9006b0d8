"""`make images`: draw the PNGs that cannot be SVG, and take pictures of the product.

The pictures show the plan preview of /servicios with the sample lesson of the sample data, in both
colour schemes.
"""

import base64
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Literal

import django
from PIL import Image
from playwright.sync_api import Browser, ViewportSize, sync_playwright

from tools.dev.chromium import install_chromium, launch_options
from tools.dev.processes import ROOT
from tools.dev.stack import use_empty_shop

IMAGES = ROOT / "static_src" / "images"
FONT = ROOT / "node_modules/@fontsource-variable/figtree/files/figtree-latin-wght-normal.woff2"
# (drawing, picture, width, height)
PICTURES = (
    ("icon.svg", "icon-32.png", 32, 32),
    ("icon.svg", "icon-180.png", 180, 180),
    ("icon.svg", "icon-192.png", 192, 192),
    ("icon.svg", "icon-512.png", 512, 512),
    ("share.svg", "share.png", 1200, 630),
)
# The window of the poster on the home page, in CSS pixels. Nothing but the subject is in it:
# the demo says of each PEC that it is to be paid, which the classroom does not.
PRODUCT = ViewportSize(width=960, height=540)
ONLY_PRODUCT = """
.preview__plan { position: fixed; inset: 0; z-index: 99; border-radius: 0; overflow: hidden; }
.preview__item span, figcaption { display: none; }
"""
SCHEMES: dict[Literal["light", "dark"], str] = {
    "light": "classroom.webp",
    "dark": "classroom-dark.webp",
}


def draw() -> int:
    """Draw every picture in Chromium. The pictures are committed, so a build needs no Chromium."""
    install_chromium()
    with tempfile.TemporaryDirectory(prefix="academy-images-") as folder:
        use_empty_shop(Path(folder))
        django.setup()
        # Imported here: the module needs the models.
        from tools.dev.bench_shop import fill_shop, running_shop

        fill_shop()
        with running_shop() as shop, sync_playwright() as playwright:
            browser = playwright.chromium.launch(**launch_options())
            _draw_icons(browser)
            _picture_product(browser, shop.url)
            browser.close()
    return 0


def _picture_product(browser: Browser, url: str) -> None:
    for scheme, picture in SCHEMES.items():
        page = browser.new_page(viewport=PRODUCT, color_scheme=scheme)
        page.goto(f"{url}/servicios#plan-completo")
        page.locator("[data-island=plan-preview]").scroll_into_view_if_needed()
        page.locator("[data-island=plan-preview][data-mounted]").wait_for(state="attached")
        page.get_by_role("button", name="PEC 1 Pendiente").click()
        page.get_by_role("button", name="PEC 1 resuelta").click()
        page.get_by_role("figure").wait_for()
        page.evaluate("document.activeElement.blur()")
        page.evaluate("document.fonts.ready")
        page.evaluate(
            "css => { const sheet = new CSSStyleSheet(); sheet.replaceSync(css);"
            " document.adoptedStyleSheets.push(sheet); }",
            ONLY_PRODUCT,
        )
        pixels = Image.open(BytesIO(page.screenshot()))
        pixels.save(IMAGES / picture, "WEBP", quality=60, method=6)
        page.close()
        print(f"static_src/images/{picture}")


def _draw_icons(browser: Browser) -> None:
    font = base64.b64encode(FONT.read_bytes()).decode()
    style = (
        "<style>body{margin:0}svg{display:block;width:100vw;height:100vh}"
        "@font-face{font-family:'Figtree Variable';font-weight:300 900;"
        f"src:url(data:font/woff2;base64,{font})}}</style>"
    )
    for drawing, picture, width, height in PICTURES:
        page = browser.new_page(viewport={"width": width, "height": height})
        page.set_content(style + (IMAGES / drawing).read_text(encoding="utf-8"))
        page.evaluate("document.fonts.ready")
        page.screenshot(path=IMAGES / picture)
        page.close()
        print(f"static_src/images/{picture}")

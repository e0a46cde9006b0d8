"""`make images`: draw the PNGs that cannot be SVG (icons of launchers, the share image)."""

import base64

from playwright.sync_api import sync_playwright

from tools.dev.chromium import install_chromium, launch_options
from tools.dev.processes import ROOT

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


def draw() -> int:
    """Draw every picture in Chromium. The pictures are committed, so a build needs no Chromium."""
    install_chromium()
    font = base64.b64encode(FONT.read_bytes()).decode()
    style = (
        "<style>body{margin:0}svg{display:block;width:100vw;height:100vh}"
        "@font-face{font-family:'Figtree Variable';font-weight:300 900;"
        f"src:url(data:font/woff2;base64,{font})}}</style>"
    )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(**launch_options())
        for drawing, picture, width, height in PICTURES:
            page = browser.new_page(viewport={"width": width, "height": height})
            page.set_content(style + (IMAGES / drawing).read_text(encoding="utf-8"))
            page.evaluate("document.fonts.ready")
            page.screenshot(path=IMAGES / picture)
            page.close()
            print(f"static_src/images/{picture}")
        browser.close()
    return 0

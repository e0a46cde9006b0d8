"""The part of `make bench` about large catalogues. It prints lines of its own and has no rows."""

from tools.dev.bench_figures import print_figures
from tools.dev.bench_scroll import print_scrolling
from tools.dev.bench_table import Row
from tools.dev.chromium import install_chromium
from tools.dev.stack import Stack


def catalogue_rows() -> list[Row]:
    install_chromium()
    print_figures()
    stack = Stack()
    try:
        stack.start("web")
        stack.wait_ready()
        print_scrolling(stack.url)
    finally:
        stack.stop()
    return []

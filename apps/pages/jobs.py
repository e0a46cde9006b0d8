"""The scheduled job of this app."""

from datetime import time

from apps.core.jobs import job
from apps.pages.opinions.asking import ask_for_opinions


@job("ask_for_opinions", "Pedir opiniones al acabar el acceso", when=time(10, 30))
def ask() -> str:
    count = ask_for_opinions()
    return f"Opiniones pedidas: {count}" if count else ""

"""Templates of the pages, and amounts of money in Spanish."""

from pathlib import Path
from string import Template

STATIC = Path(__file__).parent / "static"


def template(name: str) -> Template:
    return Template((STATIC / name).read_text())


def spanish_money(amount: int, currency: str) -> str:
    whole, cents = divmod(amount, 100)
    text = f"{whole:,}".replace(",", ".") if whole >= 10_000 else str(whole)
    return f"{text},{cents:02d}\N{NO-BREAK SPACE}{'€' if currency == 'eur' else currency.upper()}"

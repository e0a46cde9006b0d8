"""The PDF of an invoice, in the academy's typeface and colours.

It is drawn from what the invoice stores, so it is the same at any time.
"""

from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from fpdf import FPDF
from fpdf.enums import XPos, YPos

from apps.catalogue.vat import EXEMPTION, Vat
from apps.core.money import format_euros
from apps.invoices.models import Invoice
from apps.invoices.snapshot import tax_lines_of
from apps.invoices.tax_ids import COUNTRIES
from apps.invoices.verifactu.qr import qr_png

FONTS = Path(__file__).parent / "fonts"
INK, MUTED, ACCENT, RULE = (34, 40, 43), (91, 100, 104), (11, 95, 99), (226, 218, 205)
LEFT, WIDTH, LINE = 18, 174, 5.2
# The tax agency asks for 30 to 40 mm.
QR_SIZE = 32
COLUMNS = (94, 16, 32, 32)


def invoice_pdf(invoice: Invoice) -> bytes:
    """The invoice as a PDF of A4 pages."""
    paper = Paper(invoice.code)
    paper.set_title(f"{invoice.get_kind_display()} {invoice.code}")
    paper.set_lang("es")
    draw_invoice(invoice, paper)
    return bytes(paper.output())


def draw_invoice(invoice: Invoice, paper: "Paper") -> None:
    """Add the pages of the invoice to a document."""
    _Drawing(invoice, paper).draw()


class Paper(FPDF):
    """A4 pages with a footer that names the document."""

    def __init__(self, code: str) -> None:
        super().__init__()
        self.code = code
        self.set_margins(LEFT, 16)
        self.set_auto_page_break(True, margin=22)
        for style, name in (("", "Regular"), ("B", "Bold")):
            self.add_font("Figtree", style, FONTS / f"Figtree-{name}.ttf")
            # Letters of Central Europe, which the first file does not have.
            self.add_font("FigtreeExt", style, FONTS / f"Figtree-{name}-Ext.ttf")
        self.set_fallback_fonts(["FigtreeExt"], exact_match=True)
        self.alias_nb_pages()

    def footer(self) -> None:
        self.set_y(-16)
        self.set_font("Figtree", "", 8)
        self.set_text_color(*MUTED)
        self.cell(WIDTH, 5, f"{self.code} · página {self.page_no()} de {{nb}}")


class _Drawing:
    def __init__(self, invoice: Invoice, paper: Paper) -> None:
        self.invoice = invoice
        self.content = invoice.content
        self.paper = paper

    def draw(self) -> None:
        paper = self.paper
        paper.add_page()
        self._heading()
        self._parties()
        self._references()
        self._lines()
        self._breakdown()
        self._notes()

    def _font(self, size: float, *, bold: bool = False, color: tuple[int, ...] = INK) -> None:
        self.paper.set_font("Figtree", "B" if bold else "", size)
        self.paper.set_text_color(*color)

    def _text(self, text: str, *, width: float = WIDTH, align: str = "L") -> None:
        self.paper.multi_cell(width, LINE, text, align=align, new_x=XPos.LMARGIN, new_y=YPos.NEXT)

    def _heading(self) -> None:
        paper, invoice = self.paper, self.invoice
        has_qr = invoice.tax_records.exists()
        if has_qr:
            self._qr()
        self._font(15, bold=True, color=ACCENT)
        self._text(settings.BRAND_NAME)
        paper.ln(6)
        width = WIDTH - QR_SIZE - 8 if has_qr else WIDTH
        self._font(20, bold=True)
        paper.multi_cell(width, 9, invoice.get_kind_display(), new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self._font(11)
        self._text(f"Número {invoice.code}", width=width)
        self._text(f"Fecha de expedición: {_day(invoice.issued_on)}", width=width)
        operation_on = date.fromisoformat(self.content["operation_on"])
        if operation_on != invoice.issued_on:
            self._text(f"Fecha de la operación: {_day(operation_on)}", width=width)
        if has_qr:
            paper.set_y(max(paper.get_y(), 16 + QR_SIZE + 14))
        paper.ln(6)

    def _qr(self) -> None:
        """The QR code with the words that the tax agency prescribes above and below it."""
        paper, x = self.paper, LEFT + WIDTH - QR_SIZE
        self._font(8, color=MUTED)
        paper.set_xy(x, 14)
        paper.cell(QR_SIZE, 4, "QR tributario:", align="C")
        paper.image(qr_png(self.invoice), x=x, y=18, w=QR_SIZE, alt_text="QR tributario")
        paper.set_xy(x - 6, 18 + QR_SIZE)
        paper.multi_cell(
            QR_SIZE + 12,
            3.4,
            "Factura verificable en la sede electrónica de la AEAT\nVERI*FACTU",
            align="C",
        )
        paper.set_xy(LEFT, 16)

    def _parties(self) -> None:
        seller, recipient = self.content["seller"], self.invoice.recipient
        paper, top, half = self.paper, self.paper.get_y(), WIDTH / 2
        self._party("Emisor", [seller["name"], f"NIF {seller['tax_id']}", seller["address"]], LEFT)
        bottom = paper.get_y()
        if recipient and "country" not in recipient:  # erased after the time that the law asks for
            paper.set_y(top)
            self._party("Destinatario", [recipient["name"]], LEFT + half)
        elif recipient:
            paper.set_y(top)
            country = COUNTRIES.get(recipient["country"], recipient["country"])
            place = f"{recipient['postal_code']} {recipient['city']} ({country})"
            label = "NIF" if recipient["country"] == "ES" else "NIF-IVA"
            lines = [
                recipient["name"],
                f"{label} {recipient['tax_id']}",
                recipient["address"],
                place,
            ]
            self._party("Destinatario", lines, LEFT + half)
        paper.set_xy(LEFT, max(bottom, paper.get_y()) + 6)

    def _party(self, title: str, lines: list[str], x: float) -> None:
        paper = self.paper
        paper.set_x(x)
        self._font(8.5, bold=True, color=MUTED)
        paper.cell(WIDTH / 2 - 6, LINE, title.upper(), new_x=XPos.LEFT, new_y=YPos.NEXT)
        for index, line in enumerate(lines):
            self._font(10.5, bold=index == 0)
            paper.set_x(x)
            paper.multi_cell(WIDTH / 2 - 6, LINE, line, new_x=XPos.LEFT, new_y=YPos.NEXT)

    def _references(self) -> None:
        self._font(10)
        for key, text in (
            ("corrects", "Rectifica, por diferencias, la factura"),
            ("replaces", "Sustituye a la factura simplificada"),
            ("substitutes", "Rectifica los datos del destinatario y sustituye a la factura"),
        ):
            if key in self.content:
                about = self.content[key]
                day = _day(date.fromisoformat(about["issued_on"]))
                self._text(f"{text} {about['code']}, de {day}.")
        self._text(f"Pedido n.º {self.content['order']}.")
        self.paper.ln(4)

    def _row(
        self, cells: tuple[str, ...], *, bold: bool = False, color: tuple[int, ...] = INK
    ) -> None:
        """One row of the table of lines. A long name takes several lines."""
        paper = self.paper
        self._font(9.5, bold=bold, color=color)
        parts: Any = paper.multi_cell(COLUMNS[0] - 2, LINE, cells[0], dry_run=True, output="LINES")
        height = LINE * len(parts) + 3
        if paper.will_page_break(height):
            paper.add_page()
        top = paper.get_y()
        paper.set_xy(LEFT, top + 1.5)
        paper.multi_cell(COLUMNS[0] - 2, LINE, cells[0], align="L")
        x = LEFT + COLUMNS[0]
        for width, cell in zip(COLUMNS[1:], cells[1:], strict=True):
            paper.set_xy(x, top + 1.5)
            paper.cell(width, LINE, cell, align="R")
            x += width
        self._rule(top + height)
        paper.set_xy(LEFT, top + height)

    def _rule(self, y: float) -> None:
        self.paper.set_draw_color(*RULE)
        self.paper.line(LEFT, y, LEFT + WIDTH, y)

    def _lines(self) -> None:
        is_corrective = self.invoice.root_id is not None
        price, total = ("", "Diferencia") if is_corrective else ("Precio", "Con descuentos")
        self._row(("Concepto", "IVA", price, total), bold=True, color=MUTED)
        for line in self.content["lines"]:
            vat = Vat(line["vat"])
            self._row(
                (
                    line["name"],
                    _rate(vat),
                    "" if is_corrective else format_euros(line["price"]),
                    format_euros(line["total"]),
                )
            )
        if self.content["discounts"]:
            self._font(8.5, color=MUTED)
            self.paper.ln(1.5)
            self._text(f"Descuentos: {', '.join(self.content['discounts'])}.")
        self.paper.ln(5)

    def _breakdown(self) -> None:
        self._row(("Desglose del IVA", "Tipo", "Base", "Cuota"), bold=True, color=MUTED)
        for line in tax_lines_of(self.invoice):
            name = "Operación exenta" if line.vat == Vat.EXEMPT else "Sujeta a IVA"
            cells = (name, _rate(line.vat), format_euros(line.base), format_euros(line.tax))
            self._row(cells)
        paper = self.paper
        paper.ln(3)
        self._font(14, bold=True)
        paper.cell(WIDTH / 2, 9, "Total")
        paper.cell(
            WIDTH / 2,
            9,
            format_euros(self.invoice.total_cents),
            align="R",
            new_x=XPos.LMARGIN,
            new_y=YPos.NEXT,
        )
        paper.ln(3)

    def _notes(self) -> None:
        self._font(9, color=MUTED)
        if any(line.vat == Vat.EXEMPT for line in tax_lines_of(self.invoice)):
            self._text(EXEMPTION)
        else:
            self._text("Los precios de las líneas llevan el IVA incluido.")


def _rate(vat: Vat) -> str:
    return "Exenta" if vat == Vat.EXEMPT else f"{vat.percent} %"


def _day(day: date) -> str:
    return f"{day:%d/%m/%Y}"

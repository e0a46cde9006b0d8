"""The catalogue page /compra: its query string, and the HTML of its first page of subjects."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Self
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from apps.catalogue import reads
from apps.catalogue.addresses import subject_path, university_path
from apps.catalogue.serializers import DEFAULT_PAGE_SIZE, PAGE_SIZES
from apps.core.money import to_cents
from apps.core.page_cache.policy import public_page
from apps.pages.pager import page_links
from apps.payments.context import academy_props
from apps.payments.stripe.page_policy import paying_page
from apps.pricing.reads import campaigns_today, current_terms, pricing_data
from apps.pricing.rules import Campaigns, campaign_for, subject_card

Shape = dict[str, Any]

# "Todas" loads pages of this size while the visitor scrolls.
EVERYTHING = "todas"
EVERYTHING_PAGE_SIZE = 18
LONGEST_SEARCH = 100
MOST_ENROLLED = "matriculados"
# Value of `orden` in the address: its label, and the sort of the API.
ORDERS = {
    MOST_ENROLLED: ("Más matriculados", "popularity"),
    "nombre": ("Nombre", "name"),
    "precio": ("Precio", "price"),
}
# Further lessons of a card are folded.
LESSONS_SHOWN = 4


@dataclass(frozen=True)
class CatalogueQuery:
    """The query string of /compra: universidad, carrera, buscar, orden, pagina, por_pagina.

    Invalid values fall back to a default, so that old links still open a page.
    `static_src/islands/catalogue/query.ts` does the same in the browser.
    """

    university_id: int | None
    degree_id: int | None = None
    search: str = ""
    order: str = MOST_ENROLLED
    page: int = 1
    page_size: int = DEFAULT_PAGE_SIZE
    everything: bool = False

    @classmethod
    def parse(cls, params: QueryDict, universities: Sequence[Shape]) -> Self:
        open_ids = [row["id"] for row in universities if not row["coming_soon"]]
        university_id = _number(params.get("universidad"))
        if university_id not in open_ids:
            university_id = open_ids[0] if open_ids else None
        everything = params.get("por_pagina") == EVERYTHING
        page_size = _number(params.get("por_pagina"))
        order = params.get("orden", "")
        return cls(
            university_id=university_id,
            degree_id=_number(params.get("carrera")),
            # PostgreSQL refuses NUL characters in text.
            search=params.get("buscar", "").replace("\0", "").strip()[:LONGEST_SEARCH],
            order=order if order in ORDERS else MOST_ENROLLED,
            page=1 if everything else _number(params.get("pagina")) or 1,
            page_size=page_size
            if page_size in PAGE_SIZES
            else (EVERYTHING_PAGE_SIZE if everything else DEFAULT_PAGE_SIZE),
            everything=everything,
        )

    def url(self, page: int) -> str:
        """Return the URL of another page of the list, for visitors without JavaScript."""
        params = self.params(page)
        return f"/compra?{urlencode(params)}" if params else "/compra"

    def params(self, page: int) -> dict[str, str | int]:
        """Return the parameters of the query string of a page of the list."""
        params: dict[str, str | int] = {}
        if self.university_id is not None:
            params["universidad"] = self.university_id
        if self.degree_id is not None:
            params["carrera"] = self.degree_id
        if self.search:
            params["buscar"] = self.search
        if self.order != MOST_ENROLLED:
            params["orden"] = self.order
        if self.page_size != DEFAULT_PAGE_SIZE:
            params["por_pagina"] = self.page_size
        if page > 1:
            params["pagina"] = page
        return params

    def as_props(self) -> Shape:
        return {
            "university_id": self.university_id,
            "degree_id": self.degree_id,
            "search": self.search,
            "order": self.order,
            "page": self.page,
            "page_size": EVERYTHING if self.everything else self.page_size,
        }


@public_page("universidad", "carrera", "buscar", "orden", "pagina", "por_pagina", "asignatura")
@require_safe
@paying_page
def compra(request: HttpRequest) -> HttpResponse:
    universities = reads.universities()
    query = CatalogueQuery.parse(request.GET, universities)
    degrees = (
        [] if query.university_id is None else reads.degrees(university_id=query.university_id)
    )
    if query.degree_id not in [row["id"] for row in degrees]:
        query = replace(query, degree_id=None)
    page = _first_page(query)
    campaigns = campaigns_today()
    query = replace(query, page=page["page"])
    return render(
        request,
        "pages/compra.html",
        {
            "universities": universities,
            "announced": any(university["coming_soon"] for university in universities),
            "degrees": degrees,
            "query": query,
            "list_params": query.params(query.page),
            "page_sizes": PAGE_SIZES,
            "orders": [(value, label) for value, (label, _) in ORDERS.items()],
            "page": page,
            "cards": [_card(subject, campaigns) for subject in page["results"]],
            "page_links": page_links(query.url, query.page, page["pages"]),
            "campaigns": [campaign for campaign in campaigns if campaign.cart],
            "props": {
                "universities": universities,
                "degrees": degrees,
                "page": page,
                "pricing": pricing_data(current_terms(), campaigns),
                "academy": academy_props(),
                "query": query.as_props(),
                "chosen": _chosen(request.GET),
            },
        },
    )


def _chosen(params: QueryDict) -> Shape | None:
    """Return the subject that `asignatura` adds to the cart: {"subject": None} if not on sale.

    The browser reads which of its lessons the link names (`leccion`).
    """
    if "asignatura" not in params:
        return None
    subject_id = _number(params.get("asignatura"))
    return {"subject": reads.on_sale_subject(subject_id) if subject_id else None}


def _first_page(query: CatalogueQuery) -> Shape:
    if query.university_id is None:
        return {"count": 0, "page": 1, "pages": 1, "page_size": query.page_size, "results": []}
    return reads.catalogue_page(
        university_id=query.university_id,
        degree_id=query.degree_id,
        search=query.search,
        sort=ORDERS[query.order][1],
        page=query.page,
        page_size=query.page_size,
    )


def _card(subject: Shape, campaigns: Campaigns) -> Shape:
    campaign = campaign_for(campaigns, subject["degree"]["id"])
    final_cents = _cents(subject["final_price"])
    university = subject["degree"]["university"]
    lowest = subject.get("lowest_price")
    prices = subject_card(
        final_cents,
        subject["total_discounts"],
        campaign=campaign,
        lowest_cents=None if lowest is None else _cents(lowest),
    )
    in_cart = campaign if campaign and campaign.cart else None
    lessons = [
        (lesson, subject_card(_cents(lesson["price"]), 0, campaign=campaign).price_cents)
        for lesson in subject["lessons"]
    ]
    on_sale = [cents for lesson, cents in lessons if lesson["status"] == "active"]
    is_cheaper = prices.price_cents < max(final_cents, prices.list_price_cents)
    return {
        "subject": subject,
        "path": subject_path(
            subject["id"], subject["name"], university_path(university["id"], university["acronym"])
        ),
        "prices": prices,
        "campaign_name": in_cart.discount_name if in_cart and is_cheaper else "",
        "has_active": bool(on_sale),
        # How much less the whole costs than its lessons one by one, if those are sold.
        "saving_cents": 0
        if subject["complete_only"]
        else max(0, sum(on_sale) - prices.price_cents),
        "lessons": lessons[:LESSONS_SHOWN],
        "folded": lessons[LESSONS_SHOWN:],
    }


def _cents(euros: float) -> int:
    return to_cents(Decimal(str(euros)))


def _number(text: str | None) -> int | None:
    # No id or page number is longer, and Python refuses to parse very long numbers.
    if text is None or not (text.isascii() and text.isdigit()) or len(text) > 9:
        return None
    return int(text)

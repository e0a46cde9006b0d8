"""Opinions of sample students whose access has ended: published, rejected and to be moderated.

They are fewer than an average of the whole shop needs, so the home page keeps its own figures.
"""

from collections import defaultdict
from datetime import timedelta

from django.utils import timezone

from apps.backoffice.sample_trade.calendar import at_hour
from apps.backoffice.sample_trade.shop import Sale, Shop
from apps.orders.models.statuses import SOLD
from apps.pages.models import Opinion

PUBLISHED, WAITING, REJECTED = (
    Opinion.Status.PUBLISHED,
    Opinion.Status.WAITING,
    Opinion.Status.REJECTED,
)
# (rating, status, text), about one subject.
OF_THE_MOST_TAKEN = (
    (5, PUBLISHED, "Las PECs resueltas explican el porqué de cada paso. Aprobé a la primera."),
    (4, PUBLISHED, "Vídeos cortos y al grano. Me habría gustado algún test más del último tema."),
    (5, PUBLISHED, "Escribí dos dudas y me contestaron al día siguiente, con un ejemplo."),
    (3, PUBLISHED, "El contenido está bien, pero el repaso del examen llegó con poco tiempo."),
    (4, WAITING, "Buena relación entre lo que pagas y el tiempo que te ahorras."),
)
# One about each of the next subjects.
OF_OTHERS = (
    (5, PUBLISHED, "Trabajo a turnos y pude llevarla al día. Lo mejor, la teoría de cada PEC."),
    (4, PUBLISHED, "Todo ordenado por PEC, sin perder tiempo buscando en los apuntes."),
    (5, PUBLISHED, "Llevaba dos convocatorias con ella y por fin la he sacado, con un 7,5."),
    (2, PUBLISHED, "Esperaba más ejercicios resueltos. La atención, eso sí, muy rápida."),
    (5, PUBLISHED, "Los vídeos se entienden aunque vengas de letras."),
    (4, PUBLISHED, "Muy útil para preparar el examen. El documento de la PEC 2 es largo."),
    (5, WAITING, "La recomiendo: en una tarde entendí lo que no había visto en un mes."),
    (1, WAITING, "No me ha servido. Mi grupo tenía otro enunciado y no estaba."),
    (5, REJECTED, "Escribidme al 600 000 000 y os paso los apuntes por menos dinero."),
)
ASKED_AT_HOUR = 10


def write_opinions(shop: Shop) -> None:
    """Add the opinions. The students must be in the database, with their access."""
    sales = _ended_by_subject(shop)
    subject_ids = sorted(sales, key=lambda subject_id: (-len(sales[subject_id]), subject_id))
    for subject_id in subject_ids[:1]:
        for sale, words in zip(sales[subject_id], OF_THE_MOST_TAKEN, strict=False):
            _write(shop, sale, subject_id, *words)
    for subject_id, words in zip(subject_ids[1:], OF_OTHERS, strict=False):
        _write(shop, sales[subject_id][0], subject_id, *words)
    shop.rows.insert(Opinion)


def _ended_by_subject(shop: Shop) -> dict[int, list[Sale]]:
    """The sold orders whose access has ended, by the subjects that they contain, newest first."""
    found: dict[int, list[Sale]] = defaultdict(list)
    day = timezone.localdate(shop.now)
    for sale in reversed(shop.sales):
        access = sale.provisioning
        if not access or sale.order.status not in SOLD or sale.withdrawn:
            continue
        if access.ends_on and access.ends_on < day - timedelta(days=2):
            for subject_id in dict(sale.items):
                found[subject_id].append(sale)
    return found


def _write(
    shop: Shop, sale: Sale, subject_id: int, rating: int, status: Opinion.Status, text: str
) -> None:
    access, student = sale.provisioning, sale.buyer.student
    assert access is not None  # noqa: S101  (the caller has checked it)
    assert access.ends_on is not None  # noqa: S101
    asked_at = at_hour(access.ends_on + timedelta(days=1), ASKED_AT_HOUR)
    shop.rows.add(
        Opinion(
            student=student,
            subject_id=subject_id,
            status=status,
            rating=rating,
            text=text,
            shown_name=f"{student.first_name} {student.last_name[:1]}.",
            asked_at=asked_at,
            answered_at=shop.later(asked_at, most=timedelta(days=1)),
        )
    )

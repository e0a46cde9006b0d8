"""Opinions of sample students whose access has ended: published, rejected and to be moderated.

They are fewer than an average of the whole shop needs, so the home page keeps its own figures.
"""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta

from apps.backoffice.sample.clock import Tell, clock_at, days_before
from apps.backoffice.sample.shop import SampleShop
from apps.pages.models import Opinion
from apps.pages.opinions.asking import ask_for_opinions
from apps.pages.opinions.views import record_opinion

PUBLISHED, WAITING, REJECTED = (
    Opinion.Status.PUBLISHED,
    Opinion.Status.WAITING,
    Opinion.Status.REJECTED,
)
# (rating, status, text), about the subject that most students were asked about.
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


def requests(shop: SampleShop) -> Iterator[tuple[datetime, Tell]]:
    """The shop's job asks for opinions every month."""
    for days in range(345, 0, -30):
        yield days_before(shop.now, days, 10, 30), _ask


def _ask(shop: SampleShop, at: datetime) -> None:
    with clock_at(at):
        ask_for_opinions()


def give_opinions(shop: SampleShop) -> None:
    """Some of the students who were asked answer, and staff moderate most answers."""
    asked: dict[int, list[Opinion]] = defaultdict(list)
    for row in Opinion.objects.select_related("student").order_by("pk"):
        asked[row.subject_id].append(row)
    first, *others = sorted(asked, key=lambda subject_id: (-len(asked[subject_id]), subject_id))
    said = [(first, *words) for words in OF_THE_MOST_TAKEN]
    of_others = zip(others[: len(OF_OTHERS)], OF_OTHERS, strict=True)
    said += [(other, *words) for other, words in of_others]
    for subject_id, rating, status, text in said:
        row = asked[subject_id].pop()
        with clock_at(row.asked_at + timedelta(hours=len(text) % 12, minutes=rating)):
            name = f"{row.student.first_name} {row.student.last_name[:1]}."
            record_opinion(row.pk, rating=rating, text=text, shown_name=name)
        Opinion.objects.filter(pk=row.pk).update(status=status)

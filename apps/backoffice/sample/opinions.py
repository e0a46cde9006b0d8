"""Opinions of sample students whose access has ended: published, rejected and to be moderated.

They are fewer than an average of the whole shop needs, so the home page keeps its own figures.
"""

from collections import defaultdict
from datetime import timedelta

from apps.backoffice.sample.clock import clock_at, local
from apps.backoffice.sample.shop import SampleShop
from apps.classroom.models import Enrolment
from apps.orders.models import Order
from apps.orders.models.statuses import SOLD
from apps.pages.models import Opinion
from apps.pages.opinions.views import record_opinion

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


def give_opinions(shop: SampleShop) -> None:
    """Answer requests for an opinion. They are written directly: the job asks everybody."""
    students = _ended_by_subject(shop)
    ids = sorted(students, key=lambda subject_id: (-len(students[subject_id]), subject_id))
    said = [(ids[0], *words) for words in OF_THE_MOST_TAKEN]
    said += [(ids[1 + place], *words) for place, words in enumerate(OF_OTHERS)]
    for subject_id, rating, status, text in said:
        enrolment = students[subject_id].pop()
        assert enrolment.ends_on is not None  # noqa: S101  (it has ended)
        student = enrolment.student
        asked_at = local(enrolment.ends_on + timedelta(days=1), 10)
        with clock_at(asked_at):
            row = Opinion.objects.create(student=student, subject_id=subject_id)
        with clock_at(asked_at + timedelta(hours=len(text) % 12, minutes=rating)):
            name = f"{student.first_name} {student.last_name[:1]}."
            record_opinion(row.pk, rating=rating, text=text, shown_name=name)
        if status != WAITING:
            Opinion.objects.filter(pk=row.pk).update(status=status)


def _ended_by_subject(shop: SampleShop) -> dict[int, list[Enrolment]]:
    """The enrolments of sold orders that have ended, by their subjects, newest last."""
    found: dict[int, list[Enrolment]] = defaultdict(list)
    sold = Order.objects.filter(status__in=SOLD, disputed_at=None).values("pk")
    ended = Enrolment.objects.filter(ends_on__lt=shop.today - timedelta(days=2), order_id__in=sold)
    for enrolment in ended.select_related("student").order_by("granted_at", "pk"):
        found[enrolment.subject_id].append(enrolment)
    return found

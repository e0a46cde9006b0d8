"""The prices on a subject's page, the saving of the whole subject, and questions about both."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

from apps.catalogue.models import Lesson, Subject
from apps.core.money import format_euros, to_cents
from apps.orders.offer.offer import offer_of_subject
from apps.pricing.instalments import InstalmentPlan
from apps.pricing.payment_type import PaymentType
from apps.pricing.rules import Campaigns, SubjectCard, campaign_for, subject_card
from apps.pricing.sale_terms import SaleTerms


@dataclass(frozen=True)
class SubjectPrices:
    """Today's prices of a subject, in cents, a campaign's discount taken off.

    `lessons` has all lessons with their prices. `paid_at_once_cents` is the price of the whole
    subject with full payment, `instalments_cents` the amounts of its instalments, empty if it
    can't be paid so.
    """

    whole: SubjectCard
    campaign_name: str
    lessons: tuple[tuple[Lesson, int], ...]
    paid_at_once_cents: int
    by_instalments_cents: int | None
    complete_only: bool

    @classmethod
    def of(cls, subject: Subject, terms: SaleTerms, campaigns: Campaigns) -> Self:
        """The subject must have been read with the data of its card."""
        campaign = campaign_for(campaigns, subject.degree_id)
        whole = cls.of_whole(subject, campaigns)
        at_once, by_instalments = (
            offer_of_subject(subject, payment_type, terms, campaigns)
            for payment_type in (PaymentType.FULL, PaymentType.INSTALMENTS)
        )
        is_cheaper = whole.price_cents < to_cents(subject.final_price)
        return cls(
            whole=whole,
            campaign_name=campaign.discount_name if campaign and is_cheaper else "",
            lessons=tuple(
                (lesson, subject_card(to_cents(lesson.price), 0, campaign=campaign).price_cents)
                for lesson in subject.lessons.all()
            ),
            paid_at_once_cents=at_once.total_cents,
            by_instalments_cents=(None if by_instalments.refusals else by_instalments.total_cents),
            complete_only=subject.complete_only,
        )

    @staticmethod
    def of_whole(subject: Subject, campaigns: Campaigns) -> SubjectCard:
        lowest = getattr(subject, "lowest_price", None)
        return subject_card(
            to_cents(subject.final_price),
            subject.total_discounts,
            campaign=campaign_for(campaigns, subject.degree_id),
            lowest_cents=None if lowest is None else to_cents(lowest),
        )

    @property
    def singly(self) -> bool:
        """Whether lessons of the subject are sold one by one."""
        return bool(self.on_sale) and not self.complete_only

    # Each lesson of the page asks for it.
    @cached_property
    def on_sale(self) -> tuple[tuple[Lesson, int], ...]:
        """The lessons on sale, with their prices; alone or with the whole (`singly`)."""
        return tuple(row for row in self.lessons if row[0].status == Lesson.Status.ACTIVE)

    @property
    def lowest_lesson_cents(self) -> int:
        return min(cents for _, cents in self.on_sale)

    @property
    def saving_cents(self) -> int:
        """How much less the whole costs than its lessons one by one; 0 if there is no saving."""
        if self.complete_only:
            return 0
        return max(0, sum(cents for _, cents in self.on_sale) - self.whole.price_cents)

    @property
    def saving_in_words(self) -> str:
        """What the saving amounts to: a number of free lessons, or a percentage."""
        if not self.saving_cents:
            return ""
        prices = [cents for _, cents in self.on_sale]
        free = self.saving_cents // max(prices)
        if free:
            return f"Es como llevarte gratis {free} de las {len(prices)} lecciones."
        percent = self.saving_cents * 100 // sum(prices)
        return f"Es un {percent} % menos." if percent else ""


def questions_about(
    subject: Subject, prices: SubjectPrices, plan: InstalmentPlan
) -> list[tuple[str, str]]:
    """Return questions and answers that follow from the subject's prices and lessons."""
    if not prices.on_sale:
        return []
    name, lessons = subject.name, len(prices.on_sale)
    whole, lowest = format_euros(prices.whole.price_cents), format_euros(prices.lowest_lesson_cents)
    if not prices.singly:
        single = "No. Las PECs sueltas solo se venden en algunas asignaturas; esta, completa."
    elif lessons > 1:
        single = f"Sí. Ahora hay {lessons} lecciones sueltas a la venta, desde {lowest}."
    else:
        single = f"Sí. Ahora hay una lección suelta a la venta, por {lowest}."
    saving = (
        f" Todas por separado cuestan {format_euros(prices.saving_cents)} más que la asignatura "
        f"completa."
        if prices.saving_cents
        else ""
    )
    at_once = format_euros(prices.paid_at_once_cents)
    paying = f"La asignatura completa cuesta {whole}. Si la pagas de una vez, {at_once}."
    if prices.by_instalments_cents is not None:
        first, *others = plan.split(prices.by_instalments_cents)
        paying += f" También puedes pagarla en {plan.count} plazos sin intereses: hoy "
        paying += f"{format_euros(first)}, y después "
        paying += f"{format_euros(others[0])} cada {plan.every_days} días."
    questions = [
        (f"¿Puedo comprar solo una parte de {name}?", single + saving),
        ("¿Cuánto cuesta y cómo se paga?", paying),
        (
            "¿Cuándo puedo empezar?",
            "En cuanto se confirma el pago te llega un email con tu acceso al aula.",
        ),
    ]
    if prices.singly and lessons < len(prices.lessons):
        questions.append(
            (
                "¿Por qué hay lecciones caducadas?",
                "Su fecha de entrega ya ha pasado, así que no se venden sueltas.",
            )
        )
    return questions

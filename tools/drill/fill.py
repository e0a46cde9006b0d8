"""Fills an empty shop with a university, a degree, 20 subjects and a promo code of 100 %.

Prints the code and the subjects' ids.
"""

from decimal import Decimal

import django

SUBJECTS = 20
PRICE = Decimal("100.00")


def main() -> None:
    django.setup()
    from apps.catalogue.models import Degree, Lesson, Subject, University
    from apps.pricing.models import PromoCode

    code = PromoCode.objects.create(code="TODO100", kind=PromoCode.Kind.PERCENT, value=Decimal(100))
    print(code.code)
    university = University.objects.create(
        name="Universidad del Simulacro", acronym="UDS", status=University.Status.OPEN
    )
    degree = Degree.objects.create(university=university, name="Economía", acronym="ECO")
    for number in range(1, SUBJECTS + 1):
        subject = Subject.objects.create(
            degree=degree, name=f"Asignatura {number}", final_price=PRICE
        )
        Lesson.objects.create(subject=subject, title="PEC 1", price=Decimal("20.00"), position=1)
        print(subject.pk)


if __name__ == "__main__":
    main()

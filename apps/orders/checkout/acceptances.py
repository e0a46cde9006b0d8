"""The boxes a buyer has to tick."""

from apps.core.errors import Invalid
from apps.orders.checkout.request import Checkout
from apps.orders.models import Order
from apps.students.models import Consent
from apps.students.services import (
    accepted_current,
)

NEEDED = {
    Consent.Kind.TERMS: ("termsAccepted", "Debes aceptar los términos y condiciones"),
    Consent.Kind.PRIVACY: ("privacyAccepted", "Debes aceptar la política de privacidad"),
    Consent.Kind.ADULT: ("adultConfirmed", "Debes confirmar que eres mayor de 18 años"),
    Consent.Kind.WITHDRAWAL: (
        "withdrawalWaived",
        "Debes aceptar el acceso inmediato y la pérdida del derecho de desistimiento",
    ),
}
# These may have been accepted earlier, for the same order and the same versions of the texts.
EARLIER = (Consent.Kind.TERMS, Consent.Kind.PRIVACY)


def check_acceptances(checkout: Checkout, order: Order | None) -> None:
    """Raise Invalid if the buyer has not ticked all the boxes they have to.

    The declaration of age and the waiver of withdrawal are needed with each payment
    (docs/rules.md, "Consents and legal texts"). A new buyer of the order accepts all anew.
    """
    is_same = order is not None and order.email.lower() == checkout.email.strip().lower()
    kept = accepted_current(order.pk) if order is not None and is_same else set()
    missing = [kind for kind in EARLIER if kind not in checkout.accepted | kept]
    if not checkout.save_for_later:
        always = [Consent.Kind.ADULT, Consent.Kind.WITHDRAWAL]
        missing += [kind for kind in always if kind not in checkout.accepted]
    if missing:
        fields = {NEEDED[kind][0]: [NEEDED[kind][1]] for kind in missing}
        raise Invalid(NEEDED[missing[0]][1], fields=fields)

"""The exact wording of each consent box and the legal text that it refers to.

Pages and stored consents take the wording from here, so that a consent records what the page said
(docs/rules.md, "Consents and legal texts").
"""

from apps.core.models import LegalText
from apps.students.models import Consent

WORDINGS: dict[Consent.Kind, str] = {
    Consent.Kind.TERMS: "Acepto los términos y condiciones",
    Consent.Kind.PRIVACY: "Acepto la política de privacidad",
    Consent.Kind.ADULT: "He leído y acepto los términos y condiciones y soy mayor de 18 años",
    Consent.Kind.WITHDRAWAL: (
        "Quiero acceder desde ahora y sé que pierdo el derecho de desistimiento del contenido "
        "digital al empezar su suministro"
    ),
    Consent.Kind.REMINDERS: "Avisadme si dejo mi compra a medias",
}

# In step 1 of the payment dialog, the box beside the wallets stands for three consents.
_WALLET_BOX = (
    "He leído y acepto los términos y condiciones y la política de privacidad "
    "y soy mayor de 18 años"
)
WALLET_WORDINGS: dict[Consent.Kind, str] = {
    **WORDINGS,
    Consent.Kind.TERMS: _WALLET_BOX,
    Consent.Kind.PRIVACY: _WALLET_BOX,
    Consent.Kind.ADULT: _WALLET_BOX,
}

TEXTS: dict[Consent.Kind, LegalText.Kind] = {
    Consent.Kind.TERMS: LegalText.Kind.TERMS,
    Consent.Kind.PRIVACY: LegalText.Kind.PRIVACY,
    Consent.Kind.ADULT: LegalText.Kind.TERMS,
    Consent.Kind.WITHDRAWAL: LegalText.Kind.TERMS,
    Consent.Kind.REMINDERS: LegalText.Kind.PRIVACY,
}

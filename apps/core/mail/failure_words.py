"""What an error of the mail's delivery means, and what staff can do, in Spanish.

A mail server answers with a code (RFC 5321) and often a second one that says more (RFC 3463).
"""

import re

from apps.core.mail.delivery import ServerUnreachable

# The second codes, most exact first, then the first codes that need no second one.
_MEANINGS = (
    (
        r"5\.1\.\d+",
        "La dirección no existe: corrígela en el pedido o en la página del alumno.",
    ),
    (
        r"[45]\.3\.4",
        "El correo es demasiado grande para el servidor de destino.",
    ),
    (
        r"[45]\.2\.2|552|452",
        "El buzón está lleno. Envíalo otra vez en unos días, o llama.",
    ),
    (
        r"[45]\.2\.\d+",
        "El buzón está cerrado o no admite este correo. Pide otra dirección.",
    ),
    (
        r"[45]\.7\.8|530|534|535",
        "El servidor de correo no acepta nuestra contraseña. Avisa a quien administra el servidor "
        "de correo.",
    ),
    (
        r"5\.7\.\d+|554",
        "El servidor lo rechaza por sus reglas, por ejemplo como correo no deseado. Avisa a quien "
        "administra el servidor de correo.",
    ),
    (
        r"550|551|553",
        "La dirección no existe o no admite correos. Corrígela en el pedido o en la página del "
        "alumno.",
    ),
    (
        r"4\d\d",
        "El servidor de destino no lo acepta por ahora. Se volverá a intentar automáticamente "
        "durante un día.",
    ),
)
_UNREACHABLE = (
    "No hay conexión con el servidor de correo. Los correos esperan y se enviarán cuando responda."
)
_CUT = "Se ha cortado la conexión con el servidor de correo. Se volverá a intentar automáticamente."
# By the class of the error, where its text has no code.
_KINDS = {
    ServerUnreachable.__name__: _UNREACHABLE,
    "AnymailRecipientsRefused": "El proveedor de correo no envía a esta dirección. Corrígela en el "
    "pedido o en la página del alumno.",
    "SMTPServerDisconnected": _CUT,
    "ConnectionResetError": _CUT,
    "BrokenPipeError": _CUT,
    "TimeoutError": _CUT,
}
_UNKNOWN = "No se ha podido enviar."


def failure_in_words(error: str) -> str:
    """The meaning of a mail's stored error, one or two sentences; empty for an empty error.

    An error of the shop's own that is Spanish already stays as it is.
    """
    kind, colon, _ = error.partition(": ")
    if not error or not colon or " " in kind:
        return error
    if kind in _KINDS:
        return _KINDS[kind]
    for codes, meaning in _MEANINGS:
        if re.search(rf"(?<![\d.])(?:{codes})(?![\d.]*\d)", error):
            return meaning
    return _UNKNOWN

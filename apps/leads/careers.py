"""The choices of the discount-request dialog (public site spec, section 2)."""

CAREERS = {
    "ade": "ADE",
    "comunicacion": "Comunicación",
    "derecho": "Derecho",
    "economia": "Economía",
    "educacion-primaria": "Educación Primaria",
    "educacion-social": "Educación Social",
    "logopedia": "Logopedia",
    "marketing": "Marketing",
    "psicologia": "Psicología",
    "relaciones-laborales": "Relaciones Laborales",
    "turismo": "Turismo",
    "otras": "Otras",
}


def career_name(career: str) -> str:
    """The name behind the dialog's word; what other forms hold is a name already."""
    return CAREERS.get(career, career)

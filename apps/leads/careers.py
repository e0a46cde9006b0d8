"""The degrees that the discount dialog offers."""

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
    """Return the name of a career of the discount dialog. Other forms send a name already."""
    return CAREERS.get(career, career)

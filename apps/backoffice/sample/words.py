"""Invented people and texts of the sample shop, always the same ones."""

from apps.core.normal_form import normal_form

FIRST_NAMES = (
    "Lucía", "Marta", "Nerea", "Álvaro", "Paula", "Sergio", "Inés", "Hugo", "Rocío", "Adrián",
    "Sofía", "Iván", "Carmen", "Daniel", "Noelia", "Javier", "Irene", "Pablo", "Andrea", "Rubén",
    "Elena", "Óscar", "Laura", "Víctor", "Aitana", "Diego", "Cristina", "Gonzalo", "Silvia",
    "Mateo", "Begoña", "Jorge",
)  # fmt: skip
LAST_NAMES = (
    "García", "Fernández", "López", "Martínez", "Sánchez", "Pérez", "Gómez", "Ruiz", "Díaz",
    "Moreno", "Muñoz", "Álvarez", "Romero", "Navarro", "Torres", "Domínguez", "Vázquez", "Ramos",
    "Gil", "Serrano", "Blanco", "Molina", "Ortega", "Delgado", "Castro", "Ortiz", "Rubio", "Marín",
    "Sanz", "Núñez", "Iglesias", "Medina", "Cortés", "Castillo", "Santos", "Lozano", "Guerrero",
    "Cano", "Prieto", "Calvo", "Peña", "Cabrera", "Ibáñez", "Herrero", "Nieto",
)  # fmt: skip

# Messages that sample visitors write in the contact form.
CONTACTS = (
    "Hola, ¿los vídeos de Derecho romano sirven para el examen de febrero? Me examino en Madrid.",
    "Buenas, me he matriculado de dos asignaturas y no me llega el correo con la contraseña.",
    "¿Hacéis factura a nombre de empresa? Me paga el curso el trabajo y me piden el NIF.",
    "Quería saber si puedo pagar en plazos con una tarjeta de débito.",
    "He comprado Microeconomía por error, era Macroeconomía. ¿Me la podéis cambiar?",
    "¿Hasta cuándo tengo acceso a las clases si me apunto ahora?",
    "Soy opositora y solo necesito la PEC 3 de Estadística. ¿Se puede comprar suelta?",
    "No me deja usar el código que me pasó mi compañera. Dice que ya está usado.",
    "¿Cuándo abrís la Universidad a Distancia de Poniente? Me interesa Psicología.",
    "Me gustaría hablar con alguien por teléfono antes de matricularme, por las tardes.",
)

# Subjects that visitors ask for: (subject, degree, university).
MISSING_SUBJECTS = (
    ("Psicofarmacología", "Psicología", "Universidad Abierta del Mediodía"),
    ("Derecho internacional privado", "Derecho", "Universidad Abierta del Mediodía"),
    ("Econometría II", "Economía", "Universidad Abierta del Mediodía"),
    ("Criminología clínica", "Criminología", "Universidad a Distancia de Poniente"),
    ("Biología molecular", "Biología", "Universidad en Línea del Duero"),
)

ANSWERS = (
    "Hola:\n\nTe hemos vuelto a enviar el correo con tu acceso. Mira también en el spam.",
    "Hola:\n\nPuedes pagar a plazos con cualquier tarjeta, también de débito.",
    "Hola:\n\nYa está cambiado. Verás la asignatura nueva en el aula al volver a entrar.",
)

# Notes for the team.
NOTES = (
    "Llamada el martes: se lo piensa.",
    "Le mandé el temario por correo.",
    "Prefiere que le escribamos por la tarde.",
    "Ya es alumna, lo miró en el aula.",
)


def person(number: int) -> dict[str, str]:
    """Names and contact data. example.com receives no mail."""
    first = FIRST_NAMES[number * 7 % len(FIRST_NAMES)]
    last = LAST_NAMES[number % len(LAST_NAMES)]
    second = LAST_NAMES[(number * 13 + 5) % len(LAST_NAMES)]
    return {
        "first_name": first,
        "last_name": f"{last} {second}",
        "email": f"{_plain(first)}.{_plain(last)}{number}@example.com",
        "phone": f"+34600{number:06d}",
    }


def _plain(name: str) -> str:
    text = normal_form("NFKD", name).encode("ascii", "ignore").decode()
    return text.lower().replace(" ", "")

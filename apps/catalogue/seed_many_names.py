"""Names for `manage.py seed --subjects N`: invented universities, degrees and topics."""

from typing import NamedTuple


class Area(NamedTuple):
    """Five degrees that share ten topics."""

    degrees: tuple[str, str, str, str, str]
    topics: tuple[str, ...]


# (the word in "Universidad … del Cierzo", its letter in the acronym)
KINDS = (
    ("Abierta", "A"),
    ("a Distancia", "D"),
    ("Virtual", "V"),
    ("en Línea", "L"),
    ("Digital", "G"),
)

# Places without a real university, so that nobody takes the invented ones for real.
PLACES = (
    ("del Cierzo", "CIE"),
    ("de la Ribera Clara", "RIB"),
    ("de las Dehesas", "DEH"),
    ("del Alto Robledal", "ROB"),
    ("de los Almendros", "ALM"),
    ("de la Bahía Serena", "BAH"),
    ("del Encinar", "ENC"),
    ("de Peñas Blancas", "PEB"),
    ("de los Olivares", "OLI"),
    ("del Faro Viejo", "FAV"),
    ("de la Cañada Real", "CAR"),
    ("de las Marismas", "MAR"),
    ("del Páramo", "PAR"),
    ("de Fuentenueva del Valle", "FUV"),
    ("de los Cerezos", "CER"),
    ("de la Campiña", "CAM"),
    ("del Pinar Grande", "PIN"),
    ("de las Salinas", "SAL"),
    ("de Monteluz", "MOL"),
    ("de la Albufera Norte", "ALN"),
)

# "{de}": "de la contabilidad", "del derecho civil"; "{a}" and "{en}" likewise.
FORMS = (
    "Introducción {a}",
    "Fundamentos {de}",
    "Historia {de}",
    "Metodología {de}",
    "Análisis {de}",
    "Investigación {en}",
    "Ética {de}",
    "Teoría y práctica {de}",
    "Tendencias actuales {de}",
    "Seminario avanzado {de}",
    "Gestión de proyectos {en}",
    "Nuevas tecnologías aplicadas {a}",
    "Diseño y evaluación {de}",
)

AREAS = (
    Area(
        (
            "Administración de Empresas",
            "Contabilidad y Finanzas",
            "Economía",
            "Comercio Internacional",
            "Dirección Hotelera",
        ),
        (
            "la contabilidad de costes",
            "el comercio exterior",
            "la microeconomía",
            "el análisis financiero",
            "la dirección de operaciones",
            "los mercados de capitales",
            "la fiscalidad de la empresa",
            "el emprendimiento",
            "la logística",
            "el comportamiento del consumidor",
        ),
    ),
    Area(
        (
            "Derecho",
            "Ciencias Jurídicas de las Administraciones Públicas",
            "Ciencia Política",
            "Gestión Pública",
            "Seguridad y Emergencias",
        ),
        (
            "el derecho civil",
            "el derecho penal",
            "el derecho administrativo",
            "la contratación pública",
            "las instituciones europeas",
            "el sistema electoral",
            "la protección de datos",
            "las relaciones laborales",
            "el procedimiento judicial",
            "los derechos fundamentales",
        ),
    ),
    Area(
        (
            "Educación Infantil",
            "Educación Primaria",
            "Educación Social",
            "Pedagogía",
            "Logopedia",
        ),
        (
            "la didáctica de la lengua",
            "la didáctica de las matemáticas",
            "la educación inclusiva",
            "el desarrollo infantil",
            "la orientación escolar",
            "el aprendizaje cooperativo",
            "las dificultades de lectura",
            "la educación artística",
            "la organización escolar",
            "el juego en la infancia",
        ),
    ),
    Area(
        (
            "Psicología",
            "Criminología",
            "Sociología",
            "Trabajo Social",
            "Antropología",
        ),
        (
            "la psicología social",
            "la conducta antisocial",
            "las políticas sociales",
            "el envejecimiento",
            "la memoria y la atención",
            "las migraciones",
            "la intervención familiar",
            "las adicciones",
            "la opinión pública",
            "los métodos de encuesta",
        ),
    ),
    Area(
        (
            "Historia",
            "Geografía",
            "Historia del Arte",
            "Filosofía",
            "Patrimonio Cultural",
        ),
        (
            "la España contemporánea",
            "el arte del Renacimiento",
            "la América colonial",
            "el paisaje urbano",
            "la filosofía moderna",
            "la cartografía",
            "los museos",
            "la Edad Media",
            "el pensamiento político",
            "la arqueología",
        ),
    ),
    Area(
        (
            "Lengua y Literatura Españolas",
            "Estudios Ingleses",
            "Traducción",
            "Comunicación",
            "Periodismo",
        ),
        (
            "la gramática española",
            "la literatura inglesa",
            "la traducción jurídica",
            "la redacción periodística",
            "el español de América",
            "la fonética y la fonología",
            "el guion audiovisual",
            "la pragmática",
            "la poesía del Siglo de Oro",
            "el documental",
        ),
    ),
    Area(
        (
            "Ingeniería Informática",
            "Ingeniería Industrial",
            "Matemáticas",
            "Ciencia de Datos",
            "Física",
        ),
        (
            "la programación",
            "las bases de datos",
            "el álgebra lineal",
            "la termodinámica",
            "el aprendizaje automático",
            "las redes de computadores",
            "la mecánica de fluidos",
            "las ecuaciones diferenciales",
            "los sistemas operativos",
            "el control automático",
        ),
    ),
    Area(
        (
            "Enfermería",
            "Nutrición",
            "Fisioterapia",
            "Ciencias Ambientales",
            "Química",
        ),
        (
            "la anatomía",
            "la bioquímica",
            "la salud pública",
            "el medio ambiente",
            "la fisiología del ejercicio",
            "los cuidados paliativos",
            "la química orgánica",
            "la dietética",
            "la toxicología",
            "el cambio climático",
        ),
    ),
)

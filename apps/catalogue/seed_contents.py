"""Syllabus, dates and questions of twenty subjects of the sample catalogue.

The other subjects have none, as in a catalogue that is being written.
"""

from dataclasses import dataclass
from datetime import date

from apps.catalogue.models import Lesson, Subject

FIRST, SECOND = Subject.Semester.FIRST, Subject.Semester.SECOND
# (month, day) of the exam and of the one to resit it.
EXAMS = {FIRST: ((1, 20), (9, 4)), SECOND: ((6, 5), (9, 9))}
HOURS = 18


@dataclass(frozen=True)
class Contents:
    """The facts of a subject. Each unit of the syllabus is a line "Unit: topic, topic"."""

    code: str
    semester: Subject.Semester
    units: tuple[str, ...]
    question: str
    answer: str


CONTENTS = {
    "Introducción a la empresa": Contents(
        "65021014", FIRST,
        (
            "La empresa y el empresario: tipos de empresa, la figura del empresario, objetivos",
            "El entorno: entorno general, las cinco fuerzas de Porter, matriz DAFO",
            "La dirección: planificar, organizar, controlar",
            "Producción y costes: umbral de rentabilidad, productividad, inventarios",
            "Financiación e inversión: fuentes de financiación, VAN y TIR, fondo de maniobra",
        ),
        "¿Entra el cálculo del VAN en la PEC 5?",
        "Sí. Resolvemos dos proyectos con VAN y TIR, y explicamos qué hacer si no coinciden.",
    ),
    "Fundamentos de contabilidad": Contents(
        "65021020", FIRST,
        (
            "El patrimonio: activo, pasivo y patrimonio neto; el inventario",
            "La partida doble: cargo y abono, libro diario, libro mayor",
            "Compras y ventas: descuentos, IVA, existencias finales",
            "El inmovilizado: amortización, bajas, deterioro",
            "El cierre: periodificación, regularización, balance y cuenta de resultados",
        ),
        "¿Qué plan contable se sigue?",
        "El Plan General de Contabilidad vigente, con las cuentas que usa la guía docente.",
    ),
    "Matemáticas para la empresa": Contents(
        "65021037", SECOND,
        (
            "Álgebra lineal: matrices, determinantes, sistemas de ecuaciones",
            "Funciones: dominio, límites, continuidad",
            "Derivadas: tasa marginal, elasticidad, optimización",
            "Varias variables: derivadas parciales, multiplicadores de Lagrange",
            "Integrales: áreas, excedente del consumidor",
        ),
        "¿Hace falta calculadora gráfica?",
        "No. Todo se resuelve con una científica, que es la que dejan llevar al examen.",
    ),
    "Estadística empresarial": Contents(
        "65021043", FIRST,
        (
            "Estadística descriptiva: medidas de posición, dispersión, concentración",
            "Regresión y correlación: recta de regresión, coeficiente de determinación",
            "Números índice: Laspeyres, Paasche, deflactación",
            "Probabilidad: Bayes, variables aleatorias, distribución normal",
            "Inferencia: intervalos de confianza, contraste de hipótesis",
        ),
        "¿Se explican las tablas de la normal?",
        "Sí, en un vídeo corto de la PEC 4, con la tabla que dan en el examen.",
    ),
    "Dirección financiera": Contents(
        "65023012", SECOND,
        (
            "El valor del dinero: capitalización, actualización, rentas",
            "Decisiones de inversión: flujos de caja, VAN, plazo de recuperación",
            "Riesgo y rentabilidad: diversificación, beta, CAPM",
            "Estructura de capital: Modigliani y Miller, apalancamiento, coste de capital",
            "Dividendos: políticas, recompra de acciones",
        ),
        "¿Hay que saber Excel?",
        "No es obligatorio. Damos la hoja con las fórmulas y también el cálculo a mano.",
    ),
    "Teorías de la comunicación": Contents(
        "66021018", FIRST,
        (
            "Qué es comunicar: signo, código, modelos de Lasswell y Shannon",
            "La escuela americana: efectos, usos y gratificaciones, agenda setting",
            "La escuela crítica: industria cultural, Habermas, economía política",
            "Estudios culturales: codificar y descodificar, audiencias activas",
            "La sociedad red: Castells, plataformas, desinformación",
        ),
        "¿Las PECs son comentarios de texto?",
        "Tres de las cinco. Te enseñamos un esquema que sirve para todas.",
    ),
    "Teoría del Derecho": Contents(
        "66011014", FIRST,
        (
            "El concepto de Derecho: moral, poder, coacción",
            "La norma jurídica: estructura, validez, eficacia",
            "El ordenamiento: unidad, plenitud, antinomias",
            "Las fuentes: ley, costumbre, principios, jurisprudencia",
            "La interpretación: criterios del artículo 3 del Código Civil, analogía",
        ),
        "¿Hay que citar autores en las PECs?",
        "Dos o tres por PEC. Señalamos cuáles y dónde encajan.",
    ),
    "Derecho constitucional I": Contents(
        "66011020", FIRST,
        (
            "La Constitución: origen, rigidez, supremacía",
            "Las fuentes: ley orgánica, decreto ley, reglamentos de las Cámaras",
            "La Corona y las Cortes: composición, funciones, procedimiento legislativo",
            "El Gobierno: investidura, moción de censura, cuestión de confianza",
            "El Tribunal Constitucional: recurso, cuestión, amparo",
        ),
        "¿Qué sentencias hay que leer?",
        "Las cinco de la guía. De cada una tienes un resumen y lo que se pregunta.",
    ),
    "Derecho de obligaciones y contratos": Contents(
        "66012018", SECOND,
        (
            "La obligación: fuentes, elementos, clases",
            "Cumplimiento e incumplimiento: pago, mora, responsabilidad",
            "El contrato: consentimiento, objeto, causa; arras",
            "La compraventa: obligaciones de las partes, saneamiento, retracto",
            "La responsabilidad extracontractual: artículo 1902, daños, prescripción",
        ),
        "¿Los casos prácticos se corrigen con artículos?",
        "Sí. Cada respuesta dice el artículo y por qué se aplica ese y no otro.",
    ),
    "Introducción a la economía": Contents(
        "65011010", FIRST,
        (
            "Escasez y elección: coste de oportunidad, frontera de posibilidades",
            "El mercado: demanda, oferta, equilibrio",
            "Elasticidades: precio, renta, cruzada",
            "Macromagnitudes: PIB, inflación, desempleo",
            "El dinero: bancos, política monetaria, tipos de interés",
        ),
        "Vengo de letras, ¿podré seguirla?",
        "Sí. Solo se usan rectas y porcentajes, y los repasamos en la PEC 1.",
    ),
    "Microeconomía": Contents(
        "65011027", FIRST,
        (
            "Oferta y demanda: equilibrio, excedentes, impuestos",
            "Elección del consumidor: restricción presupuestaria, curvas de indiferencia",
            "Producción y costes: rendimientos decrecientes, coste marginal",
            "Competencia y monopolio: precio, cantidad, pérdida irrecuperable",
            "Oligopolio y fallos de mercado: Cournot, externalidades, bienes públicos",
        ),
        "¿Qué nivel de matemáticas pide?",
        "Derivadas sencillas. En el vídeo de la PEC 2 se repasa todo lo que hace falta.",
    ),
    "Macroeconomía": Contents(
        "65011033", SECOND,
        (
            "La renta nacional: PIB, ahorro, inversión",
            "El multiplicador: consumo, gasto público, impuestos",
            "El modelo IS-LM: política fiscal, política monetaria",
            "Oferta y demanda agregadas: salarios, precios, corto y largo plazo",
            "La economía abierta: tipo de cambio, balanza de pagos",
        ),
        "¿Se dibujan los gráficos en la PEC?",
        "Sí, y los damos paso a paso para que los copies entendiendo cada curva.",
    ),
    "Pedagogía social": Contents(
        "63031019", FIRST,
        (
            "El origen: Natorp, Nohl, la pedagogía social en España",
            "El objeto: socialización, inadaptación, prevención",
            "Ámbitos: infancia, mayores, ocio, medio penitenciario",
            "El educador social: funciones, código deontológico",
            "Los proyectos: diagnóstico, objetivos, evaluación",
        ),
        "¿La PEC del proyecto es individual?",
        "Sí. Damos una plantilla con los apartados que se puntúan.",
    ),
    "Fonética y fonología": Contents(
        "64031014", FIRST,
        (
            "Fonética articulatoria: órganos, puntos y modos de articulación",
            "Las vocales: triángulo vocálico, diptongos, hiatos",
            "Las consonantes: oclusivas, fricativas, sonoridad",
            "La sílaba y el acento: estructura, entonación",
            "Transcripción: alfabeto fonético, alófonos, fonemas",
        ),
        "¿Se transcribe con el AFI o con la RFE?",
        "Con el AFI, como pide la guía. Hay una tabla de equivalencias.",
    ),
    "Fundamentos de marketing": Contents(
        "65031012", FIRST,
        (
            "El concepto de marketing: necesidades, valor, orientación al mercado",
            "El entorno y el mercado: segmentar, elegir, posicionar",
            "El consumidor: proceso de compra, motivación, influencias",
            "Las cuatro pes: producto, precio, distribución, comunicación",
            "El plan de marketing: análisis, objetivos, control",
        ),
        "¿Sobre qué empresa se hace el plan?",
        "Sobre la que tú elijas. El ejemplo resuelto es de una panadería de barrio.",
    ),
    "Historia de la psicología": Contents(
        "62011014", FIRST,
        (
            "Antecedentes: Descartes, empirismo, fisiología",
            "Wundt y la psicología experimental: introspección, Leipzig",
            "El funcionalismo: James, Dewey, Angell",
            "El conductismo: Watson, Tolman, Skinner",
            "La psicología cognitiva: Gestalt, Piaget, la metáfora del ordenador",
        ),
        "¿Hay que memorizar fechas?",
        "Pocas. Damos una línea del tiempo con las quince que se preguntan.",
    ),
    "Fundamentos de neurociencia": Contents(
        "62011020", SECOND,
        (
            "La neurona: potencial de acción, sinapsis, neurotransmisores",
            "El sistema nervioso: central, periférico, autónomo",
            "Los sentidos: visión, audición, dolor",
            "El movimiento: corteza motora, ganglios basales, cerebelo",
            "Sueño y emoción: fases del sueño, amígdala, hipotálamo",
        ),
        "¿Se preguntan dibujos en el examen?",
        "Sí, hay que rotular dos. Tienes láminas mudas para practicar.",
    ),
    "Psicología del aprendizaje": Contents(
        "62011037", SECOND,
        (
            "Habituación: sensibilización, teoría dual",
            "Condicionamiento clásico: adquisición, extinción, bloqueo",
            "Condicionamiento instrumental: reforzadores, programas, castigo",
            "Control por el estímulo: generalización, discriminación",
            "Aprendizaje observacional: Bandura, modelado",
        ),
        "¿Hay que hacer la práctica de laboratorio?",
        "Es voluntaria. La comentamos porque cae en el examen.",
    ),
    "Psicometría": Contents(
        "62013011", FIRST,
        (
            "Medir en psicología: escalas, tests, baremos",
            "La teoría clásica: puntuación verdadera, error",
            "Fiabilidad: dos mitades, alfa de Cronbach, Spearman-Brown",
            "Validez: de contenido, de criterio, de constructo",
            "Análisis de ítems: dificultad, discriminación, aciertos al azar",
        ),
        "¿Dan el formulario en el examen?",
        "Sí. Trabajamos siempre con ese formulario, no con otro.",
    ),
    "Introducción al turismo": Contents(
        "66041010", FIRST,
        (
            "Qué es el turismo: definiciones, historia, formas",
            "La demanda: motivación, estacionalidad, gasto",
            "La oferta: alojamiento, transporte, intermediarios",
            "Los impactos: económicos, sociales, ambientales",
            "La política turística: planificación, calidad, estadísticas",
        ),
        "¿Los datos de las PECs son actuales?",
        "Se actualizan cada curso con los últimos publicados por el INE.",
    ),
}  # fmt: skip


def add_contents(subject: Subject, today: date) -> None:
    """Write the subject's facts into a row that is not saved yet. Exams are to come."""
    contents = CONTENTS.get(subject.name)
    if contents is None:
        return
    subject.code, subject.semester = contents.code, contents.semester
    subject.language = Subject.Language.SPANISH
    subject.hours = HOURS
    exam, resit = EXAMS[contents.semester]
    subject.exam_on, subject.resit_on = _next(exam, today), _next(resit, today)
    subject.questions = f"{contents.question}\n{contents.answer}"


def syllabus_of(subject: Subject, lesson: Lesson, number: int) -> str:
    """The syllabus of the lesson with this number, from 1; that of an exam names all units."""
    contents = CONTENTS.get(subject.name)
    if contents is None:
        return ""
    if lesson.title == "Examen":
        return "\n".join(unit.partition(":")[0] for unit in contents.units)
    unit, _, topics = contents.units[(number - 1) % len(contents.units)].partition(": ")
    lines = [f"- {topic[0].upper()}{topic[1:]}" for topic in topics.replace(";", ",").split(", ")]
    return "\n".join([f"Unidad {number}. {unit}", *lines])


def _next(month_and_day: tuple[int, int], today: date) -> date:
    this_year = date(today.year, *month_and_day)
    return this_year if this_year > today else date(today.year + 1, *month_and_day)

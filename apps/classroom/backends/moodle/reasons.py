"""Moodle's error codes as Spanish sentences for staff, each with what to do."""

import re

from apps.classroom.backends.moodle.menus import (
    ADVANCED,
    MAINTENANCE,
    ROLES,
    SERVICES,
    TOKENS,
    USERS,
)

# An error code is one word. For a refused password Moodle puts the policy's text in its place.
ERROR_CODE = re.compile(r"[a-zA-Z0-9_]*")

COURSE_IS_GONE = (
    "El curso ya no existe en Moodle: elige otro en «Cursos de Moodle», o dale el mismo nombre "
    "corto o número de ID al nuevo, y vuelve a intentarlo."
)
# Moodle's answer is a bare HTTP status 403.
SERVICES_ARE_OFF = (
    "Los servicios web de Moodle o su protocolo REST están apagados: marca «Habilitar "
    f"servicios web» en {ADVANCED}, y activa REST en {SERVICES} > Administrar protocolos."
)
# Moodle refuses every course to a user who has to do something at the next sign-in.
USER_HAS_TO_SIGN_IN = ("forcepasswordchangenotice", "sitepolicynotagreed", "usernotfullysetup")
SIGN_IN_ONCE = (
    "El usuario de la clave tiene algo pendiente en Moodle, como cambiar su contraseña o aceptar "
    "la política del sitio: entra en Moodle una vez con él y complétalo."
)
# By code, or by function and code where the code alone says little.
REASONS = {
    "invalidtoken": f"Moodle no conoce la clave de MOODLE_TOKEN: crea otra en {TOKENS}.",
    "accessexception": "A la clave de MOODLE_TOKEN le falta la función {function} en su servicio: "
    f"añádela en {SERVICES} > Servicios externos > Funciones.",
    "enablewsdescription": f"Los servicios web de Moodle están apagados: actívalos en {ADVANCED}.",
    "servicenotavailable": "El servicio web de la clave MOODLE_TOKEN está desactivado en "
    f"Moodle: habilítalo en {SERVICES} > Servicios externos.",
    "invalidrecord": "Moodle no encuentra lo que se le pide ({function}): un usuario o curso "
    "borrado, o una función que no tiene.",
    "invalidparameter": "Moodle no admite un dato que se le ha enviado ({function}): {detail}",
    "core_user_create_users:invalidparameter": "Moodle no admite algún dato del alumno, su nombre "
    "o su correo: corrígelo en su ficha y vuelve a intentarlo.",
    "core_user_get_course_user_profiles:invalidparameter": COURSE_IS_GONE,
    "enrol_manual_enrol_users:invalidparameter": COURSE_IS_GONE,
    "enrol_manual_unenrol_users:invalidrecord": COURSE_IS_GONE,
    "dmlwriteexception": "La base de datos de Moodle no ha guardado el cambio.",
    "invalidresponse": "Moodle no ha podido contestar a {function}.",
    "nopermissions": "Al rol del servicio web le falta un permiso en Moodle para {function}: "
    f"{{detail}} «Comprobar Moodle» dice cuál; se pone en {ROLES}.",
    "nopermission": "Al rol del servicio web le falta un permiso en Moodle para {function}: "
    f"«Comprobar Moodle» dice cuál; se pone en {ROLES}.",
    "requireloginerror": "El rol del servicio web no puede entrar en el curso: le faltan los "
    "permisos moodle/course:view o moodle/course:viewhiddencourses.",
    "errorcoursecontextnotvalid": "El curso de Moodle se ha borrado, o el rol del servicio web no "
    "puede entrar en él (moodle/course:view, moodle/course:viewhiddencourses).",
    "wsusercannotassign": "El rol del servicio web no puede asignar el rol de estudiante: márcalo "
    f"en {ROLES} > Permitir asignar roles.",
    "wsnoinstance": "El curso de Moodle no tiene el método de matrícula «Matriculación manual»: "
    "añádelo o actívalo en Participantes > Métodos de matriculación.",
    "wscannotenrol": "El método «Matriculación manual» del curso no admite matrículas.",
    "wscannotunenrol": "El método «Matriculación manual» del curso no permite dar de baja.",
    "manualpluginnotinstalled": "Moodle no tiene el método «Matriculación manual».",
    "userdeleted": "El usuario se ha borrado en Moodle: vuelve a intentarlo y se creará de nuevo.",
    "invaliduser": "Ese usuario ya no existe en Moodle.",
    "invaliduserid": "Ese usuario ya no existe en Moodle.",
    "usernotconfirmed": f"El usuario no ha confirmado su cuenta de Moodle: confírmala en {USERS}.",
    "usernotupdatedadmin": "El usuario es administrador de Moodle: no se cambia desde aquí.",
    "usernotupdateddeleted": "El usuario se ha borrado en Moodle.",
    "useremailduplicate": "Otro usuario de Moodle ya tiene ese correo: cámbialo allí, o une las "
    "dos cuentas, y vuelve a intentarlo.",
    "useremailinvalid": "Moodle no admite ese correo.",
    "sitemaintenance": f"Moodle está en mantenimiento: quítalo en {MAINTENANCE}.",
    "upgraderunning": "Moodle se está actualizando.",
}


def reason_for(code: str, detail: str, function: str) -> str:
    """The sentence for an error code; for an unknown one, with Moodle's code and text."""
    if any(text in detail for text in USER_HAS_TO_SIGN_IN):
        return SIGN_IN_ONCE
    reason = REASONS.get(f"{function}:{code}") or REASONS.get(code)
    if reason:
        return reason.format(function=function, detail=detail)
    if not ERROR_CODE.fullmatch(code):
        return f"Moodle no lo acepta ({function}): {detail.removeprefix('error/')}"
    return f"Moodle no lo acepta ({function}, código «{code}»): {detail}"

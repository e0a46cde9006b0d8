"""Rehearsals: a restored copy of the shop that changes nothing outside of itself.

With REHEARSAL the adapters of Stripe, Moodle and the tax agency make no call that changes anything,
and mails are files (docs/operations.md, "Practising a restore"). `manage.py restore --rehearsal`
marks the database: without the setting no process can use it.
"""

import logging
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import DEFAULT_DB_ALIAS

from apps.core.restore_record import Restore

logger = logging.getLogger(__name__)

NOTE = "No se cobra, no sale ningún correo y nada cambia en Stripe, en el aula ni en Hacienda."
NOT_SET = (
    "Esta base de datos es la de un ensayo («restore --rehearsal»): pon REHEARSAL=true en el "
    "entorno. Para vender de verdad, restaura la copia en una base de datos vacía."
)


def announce() -> None:
    """Log that this process rehearses, when it starts."""
    if settings.REHEARSAL:
        logger.warning("REHEARSAL: this process charges, mails and enrols nobody")


def refuse_marked_database(sender: Any, connection: BaseDatabaseWrapper, **kwargs: object) -> None:
    """Refuse the database of a rehearsal if the setting is missing (connection_created handler).

    Raises ImproperlyConfigured.
    """
    if settings.REHEARSAL or connection.alias != DEFAULT_DB_ALIAS:
        return
    last = Restore.objects.using(connection.alias).order_by("-pk")
    try:
        is_rehearsal = last.values_list("is_rehearsal", flat=True).first()
    except DatabaseError:
        return  # The tables are not there yet.
    if is_rehearsal:
        connection.close()
        raise ImproperlyConfigured(NOT_SET)

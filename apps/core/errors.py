"""Errors with a code for programs and a message for people (docs/rules.md, "Error shape")."""

import errno
from typing import Any

from django.db import InterfaceError, OperationalError


class AcademyError(Exception):
    """A refusal that the API returns in the error shape.

    `status` is the HTTP status, `code` is for programs, `message` is a Spanish sentence. `extra`
    holds further keys of the response, for example the new total of `price_changed`. `retry_after`
    is the value of the header `Retry-After`, in seconds, for errors that have one.
    """

    status = 400
    retry_after: int | None = None
    code = "invalid"
    message = "Los datos no son válidos."

    def __init__(
        self,
        message: str | None = None,
        *,
        fields: dict[str, list[str]] | None = None,
        **extra: Any,
    ) -> None:
        self.message = message or self.message
        self.fields = fields or {}
        self.extra = extra
        super().__init__(self.message)


class Invalid(AcademyError):
    pass


class Forbidden(AcademyError):
    status = 403
    code = "forbidden"
    message = "No tienes permiso para hacer esto."


class CrossSite(Forbidden):
    code = "cross_site"
    message = "La petición viene de otro sitio web y no se ha aceptado."


class NotFound(AcademyError):
    status = 404
    code = "not_found"
    message = "No se ha encontrado lo que buscas."


class Conflict(AcademyError):
    status = 409
    code = "conflict"
    message = "Los datos han cambiado mientras tanto. Vuelve a intentarlo."


class TooLarge(AcademyError):
    status = 413
    code = "too_large"
    message = "La petición es demasiado grande."


class StorageFull(AcademyError):
    """The server's disk or quota is full. It is not the visitor's fault."""

    status = 503
    code = "storage_full"
    message = "Ahora mismo no podemos guardar archivos. Vuelve a intentarlo más tarde."
    retry_after = 3600

    @staticmethod
    def is_cause(error: BaseException | None) -> bool:
        return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


class BucketAway(OSError):
    """The bucket with the files does not answer, or answers too many questions already."""


class Busy(AcademyError):
    """The database or the bucket did not answer in time, or a lock was held."""

    status = 503
    code = "busy"
    message = "Ahora mismo no podemos atenderte. Vuelve a intentarlo dentro de unos segundos."
    retry_after = 5

    @staticmethod
    def is_cause(error: BaseException | None) -> bool:
        return isinstance(error, OperationalError | InterfaceError | BucketAway)


class TooManyRequests(AcademyError):
    status = 429
    code = "too_many_requests"
    message = "Demasiados intentos."

    def __init__(
        self, retry_after: int, message: str | None = None, *, reason: str = message, **extra: Any
    ) -> None:
        self.retry_after = retry_after
        minutes = max(1, -(-retry_after // 60))
        unit = "minuto" if minutes == 1 else "minutos"
        super().__init__(
            message or f"{reason} Vuelve a probar dentro de {minutes} {unit}.", **extra
        )

"""Errors in the shape of Stripe's API: {"error": {type, code, decline_code, message, param, …}}."""

from typing import Any

DOC_URL = "https://stripe.com/docs/error-codes/"
# The names of objects in Stripe's error messages.
NAMES = {
    "payment_intent": "PaymentIntent",
    "payment_method": "PaymentMethod",
    "setup_intent": "SetupIntent",
}


class ApiError(Exception):
    """An answer other than 200.

    `keeps_changes`: commit what the handler wrote. A declined card, for example, leaves a failed
    charge and `last_payment_error`. `replayable` is false if Stripe stores no answer for the
    idempotency key, because the call was not executed.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int = 400,
        type: str = "invalid_request_error",
        code: str | None = None,
        param: str | None = None,
        keeps_changes: bool = False,
        replayable: bool = True,
        **details: Any,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.keeps_changes = keeps_changes
        self.replayable = replayable
        self.error: dict[str, Any] = {"type": type, "message": message}
        if code:
            self.error["code"] = code
            self.error["doc_url"] = DOC_URL + code.replace("_", "-")
        if param:
            self.error["param"] = param
        self.error.update({key: value for key, value in details.items() if value is not None})


def invalid_params(message: str, param: str, code: str | None = None) -> ApiError:
    """A 400 for invalid parameters, raised before the call is executed."""
    return ApiError(message, code=code, param=param, replayable=False)


def missing(kind: str, id: str, param: str = "id", *, status: int = 404) -> ApiError:
    """`resource_missing`: 404 for an id in the path, 400 for an id in a parameter."""
    name = "PaymentMethod" if kind == "payment_method" else kind
    return ApiError(
        f"No such {name}: '{id}'",
        status=status,
        code="resource_missing",
        param=param,
    )


def card_error(
    code: str,
    message: str,
    *,
    decline_code: str | None = None,
    param: str | None = None,
    **details: Any,
) -> ApiError:
    """A 402 for a declined card. The failed attempt stays recorded."""
    return ApiError(
        message,
        status=402,
        type="card_error",
        code=code,
        decline_code=decline_code,
        param=param,
        keeps_changes=True,
        **details,
    )


def unexpected_state(message: str, intent: dict[str, Any]) -> ApiError:
    kind = intent["object"]
    error = ApiError(message, code=f"{kind}_unexpected_state")
    error.error[kind] = intent
    return error

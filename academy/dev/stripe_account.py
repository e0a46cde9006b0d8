"""The real Stripe test account that `make test-stripe` asks, where somebody gives its key."""

from collections.abc import Mapping

from academy.dev.bootstrap import SetupError

NAME = "STRIPE_TEST_SECRET_KEY"


def account_key(env: Mapping[str, str]) -> str:
    """The secret key of a test account; SetupError where there is none, or where it is no test key.

    Never a live key: the tests open, confirm, cancel and refund payments.
    """
    key = env.get(NAME, "").strip()
    if not key:
        raise SetupError(
            f"«make test-stripe» necesita en {NAME} la clave secreta de prueba (sk_test_…) de una "
            "cuenta de Stripe, y conexión a Internet."
        )
    if not key.startswith(("sk_test_", "rk_test_")):
        raise SetupError(
            f"{NAME} tiene que ser una clave de prueba (sk_test_…): las pruebas abren, cobran y "
            "devuelven pagos, y con una clave real lo harían de verdad."
        )
    return key

"""The meaning of mail servers' answers, as staff read it."""

import smtplib

import pytest

from apps.core.mail.failure_words import failure_in_words

REFUSED = smtplib.SMTPRecipientsRefused(
    {"ana@example.com": (550, b"5.1.1 <ana@example.com>: no such user")}
)
RELAY = smtplib.SMTPRecipientsRefused({"ana@example.com": (554, b"5.7.1 Relay access denied")})


@pytest.mark.parametrize(
    ("error", "meaning"),
    [
        (REFUSED, "La dirección no existe: corrígela"),
        (RELAY, "El servidor lo rechaza por sus reglas"),
        (smtplib.SMTPDataError(552, b"Mailbox full"), "El buzón está lleno"),
        (smtplib.SMTPDataError(452, b"4.2.2 over quota"), "El buzón está lleno"),
        (smtplib.SMTPDataError(550, b"5.2.1 Mailbox disabled"), "El buzón está cerrado"),
        (smtplib.SMTPDataError(552, b"5.3.4 Message too big"), "es demasiado grande"),
        (smtplib.SMTPAuthenticationError(535, b"5.7.8 Bad credentials"), "nuestra contraseña"),
        (smtplib.SMTPDataError(550, b"5.7.26 SPF failed"), "El servidor lo rechaza"),
        (smtplib.SMTPDataError(550, b"User unknown"), "no existe o no admite correos"),
        (smtplib.SMTPDataError(451, b"4.7.0 Greylisted"), "no lo acepta por ahora"),
        (smtplib.SMTPDataError(421, b"Try later"), "no lo acepta por ahora"),
        (smtplib.SMTPServerDisconnected("the server hung up"), "Se ha cortado la conexión"),
        (TimeoutError("timed out"), "Se ha cortado la conexión"),
        (ValueError("port 2550 is odd"), "No se ha podido enviar."),
    ],
)
def test_answer_of_a_mail_server_is_said_in_words(error, meaning):
    assert meaning in failure_in_words(f"{type(error).__name__}: {error}")


@pytest.mark.parametrize("text", ["", "No ha llegado: la dirección no existe."])
def test_what_is_spanish_already_stays(text):
    assert failure_in_words(text) == text

// Spanish messages. Stripe.js shows these instead of the API's English messages.
export const SPANISH_MESSAGES = {
  card_declined: "Tu tarjeta ha sido rechazada.",
  generic_decline: "Tu tarjeta ha sido rechazada.",
  insufficient_funds: "Tu tarjeta no tiene fondos suficientes. Prueba con otra tarjeta.",
  test_mode_live_card:
    "Tu tarjeta ha sido rechazada. La solicitud se ha hecho en modo de pruebas con una tarjeta que no es de prueba.",
  expired_card: "Tu tarjeta ha caducado.",
  incorrect_cvc: "El código de seguridad de tu tarjeta es incorrecto.",
  invalid_cvc: "El código de seguridad de tu tarjeta no es válido.",
  incorrect_number: "El número de tu tarjeta no es válido.",
  invalid_expiry_month: "El mes de caducidad de tu tarjeta no es válido.",
  invalid_expiry_year: "El año de caducidad de tu tarjeta no es válido.",
  processing_error:
    "Se ha producido un error al procesar tu tarjeta. Inténtalo de nuevo en unos minutos.",
  authentication_required: "Tu tarjeta ha sido rechazada. Este pago requiere autenticación.",
  payment_intent_authentication_failure:
    "No hemos podido autenticar tu método de pago. Elige otro método de pago e inténtalo de nuevo.",
  setup_intent_authentication_failure:
    "No hemos podido autenticar tu método de pago. Elige otro método de pago e inténtalo de nuevo.",
  setup_intent_unexpected_state: "Esta tarjeta ya no se puede guardar desde aquí.",
  card_not_supported: "Tu tarjeta no admite este tipo de compra.",
  card_velocity_exceeded:
    "Tu tarjeta ha sido rechazada por superar su límite o por demasiados intentos seguidos.",
  payment_intent_unexpected_state: "Este pago ya no se puede confirmar.",
};
export const CONNECTION_MESSAGES = {
  es: "No se ha podido conectar con la pasarela de pago. Comprueba tu conexión e inténtalo de nuevo.",
  en: "We could not connect to the payment gateway. Check your connection and try again.",
};

export function languageOf(locale) {
  const wanted = !locale || locale === "auto" ? navigator.language : locale;
  return wanted.toLowerCase().startsWith("es") ? "es" : "en";
}

// The API's error with the message in the customer's language.
export function localized(error, locale) {
  if (languageOf(locale) !== "es") return error;
  const message = SPANISH_MESSAGES[error.decline_code] ?? SPANISH_MESSAGES[error.code];
  return message ? { ...error, message } : error;
}

export function integrationError(message) {
  const error = new Error(message);
  error.name = "IntegrationError";
  return error;
}

/** Why process-checkout failed, as data that the page acts on, and the messages to show. */
import * as z from "zod/mini";
import { ApiError } from "../../lib/http/api";
import {
  ExistingPayment,
  type OrderCredentials,
  PlacedOrder,
  PricedOrder,
  type UnavailableItem,
  UnavailableItems,
} from "../../schemas/checkout";
import { GIFT_FIELDS, type StepErrors } from "./gift";

export type Refusal =
  | { kind: "price_changed"; priced: PricedOrder }
  | { kind: "unavailable" | "already_bought"; items: UnavailableItem[] }
  | { kind: "promo_refused"; text: string }
  | { kind: "instalments_refused"; text: string }
  | { kind: "contact"; errors: StepErrors }
  /** The shop takes few payments for now: the buyer may pay after so many seconds. */
  | { kind: "paused"; seconds: number; text: string }
  | { kind: "already_paid"; paymentIntentId: string | null }
  | { kind: "payment_in_progress"; text: string; paymentIntentId: string | null }
  /** The order has expired or does not exist: the next attempt creates a new order. */
  | { kind: "order_gone"; title: string; text: string }
  /**
   * Stripe is unavailable, or the server did not call it at all. The next attempt uses the order, if
   * the server has created it.
   */
  | { kind: "not_prepared"; order: OrderCredentials | null; title: string; text: string }
  | { kind: "problem"; title: string; text: string };

export const PAYMENT_ERROR = "Error en el pago";
const CHECKOUT_FAILED = "No se pudo procesar el pago. Inténtalo de nuevo.";
const NOT_PREPARED = "No se pudo preparar el pago. Inténtalo de nuevo.";
export const NO_SECRET_OR_URL = "No client secret or redirect URL received.";
export const INVALID_PROMO = "El código promocional no es válido";
export const PROMO_CALL_FAILED = "No se pudo validar el código. Inténtalo de nuevo.";

const OFFLINE =
  "No tienes conexión a internet. No se ha cobrado nada: cuando vuelva, inténtalo otra vez.";
const NO_ANSWER =
  "La conexión no responde. No se ha cobrado nada: compruébala e inténtalo otra vez.";

const CONTACT_FIELDS = [
  "email",
  "phone",
  "termsAccepted",
  "privacyAccepted",
  ...GIFT_FIELDS,
] as const;

export function refusalOf(error: unknown): Refusal {
  if (!(error instanceof ApiError)) return failed();
  if (error.status === 0) {
    return { kind: "problem", title: PAYMENT_ERROR, text: connectionMessage() };
  }
  const { data, message: text } = error;
  const busy = error.code === "provider_busy";
  if (error.status === 502 || busy) {
    const order = PlacedOrder.safeParse(data);
    return {
      kind: "not_prepared",
      order: order.success ? order.data : null,
      title: "Error",
      text: busy ? text : NOT_PREPARED,
    };
  }
  if (error.status >= 500 || error.code === "unexpected") return failed();
  switch (error.code) {
    case "price_changed": {
      const priced = PricedOrder.safeParse(data);
      return priced.success ? { kind: "price_changed", priced: priced.data } : failed();
    }
    case "unavailable":
    case "already_bought": {
      const items = UnavailableItems.safeParse(data);
      return items.success ? { kind: error.code, items: items.data.items } : failed();
    }
    case "promo_refused":
      return { kind: "promo_refused", text: text || INVALID_PROMO };
    case "instalments_unavailable":
      return { kind: "instalments_refused", text };
    case "already_paid":
      return { kind: "already_paid", paymentIntentId: paymentIdIn(data) };
    case "payments_paused":
      return { kind: "paused", seconds: Number(data.seconds_left) || 60, text };
    case "payment_in_progress":
      return { kind: "payment_in_progress", text, paymentIntentId: paymentIdIn(data) };
  }
  const errors = contactErrorsIn(error.fields);
  if (errors) return { kind: "contact", errors };
  if (error.status === 404 || error.status === 403) {
    return { kind: "order_gone", title: PAYMENT_ERROR, text };
  }
  return { kind: "problem", title: PAYMENT_ERROR, text };
}

/** Why a request got no response, as far as the browser knows. */
const connectionMessage = (): string => (navigator.onLine ? NO_ANSWER : OFFLINE);

function failed(): Refusal {
  return { kind: "problem", title: PAYMENT_ERROR, text: CHECKOUT_FAILED };
}

function paymentIdIn(data: unknown): string | null {
  const payment = ExistingPayment.safeParse(data);
  return payment.success ? payment.data.payment_intent_id : null;
}

function contactErrorsIn(fields: Record<string, string[]>): StepErrors | null {
  const errors: StepErrors = {};
  for (const field of CONTACT_FIELDS) {
    const message = fields[field]?.[0];
    if (message) errors[field] = message;
  }
  return Object.keys(errors).length > 0 ? errors : null;
}

const OTHER_WAY = "No se ha cobrado nada: inténtalo otra vez o elige otro medio de pago.";
const NOT_APPROVED = `No se ha aprobado el pago. ${OTHER_WAY}`;
const NOT_IN_TIME = `El pago ha caducado porque no se aprobó a tiempo. ${OTHER_WAY}`;

// By Stripe's decline codes and error codes. Stripe's own messages are never shown.
const CARD_ERROR_MESSAGES: Record<string, string> = {
  card_declined: "Tu banco ha rechazado la tarjeta. Prueba con otra o habla con tu banco.",
  generic_decline: "Tu banco ha rechazado la tarjeta. Prueba con otra o habla con tu banco.",
  insufficient_funds: "La tarjeta no tiene saldo suficiente. Prueba con otra.",
  expired_card: "La tarjeta ha caducado. Prueba con otra.",
  incorrect_cvc: "El código de seguridad (CVC) no es correcto. Revísalo.",
  incorrect_number: "El número de tarjeta no es correcto. Revísalo.",
  lost_card: "Tu banco ha rechazado la tarjeta. Prueba con otra o habla con tu banco.",
  stolen_card: "Tu banco ha rechazado la tarjeta. Prueba con otra o habla con tu banco.",
  processing_error: "El banco no ha podido procesar el pago. Inténtalo de nuevo en un momento.",
  payment_intent_authentication_failure:
    "Tu banco no ha podido confirmar que eres tú. Inténtalo de nuevo o usa otra tarjeta.",
  payment_method_customer_decline: NOT_APPROVED,
  payment_method_provider_decline: NOT_APPROVED,
  payment_intent_payment_attempt_expired: NOT_IN_TIME,
  payment_method_provider_timeout: NOT_IN_TIME,
  // The shop has canceled the payment: it was open for too long, or price, code or plan changed.
  payment_intent_unexpected_state:
    "El formulario de pago ha caducado: ha pasado mucho tiempo o algo ha cambiado en tu compra. No se ha cobrado nada. Pulsa otra vez «Pagar».",
};
const INCOMPLETE_CARD = "Revisa los datos de la tarjeta: falta alguno o no es correcto.";
const CARD_DECLINED = "No se ha podido hacer el pago. Revisa los datos o prueba con otra tarjeta.";

// The payment may have arrived at the bank. A second confirmation of it does not charge twice.
const CONNECTION_LOST =
  "Se ha cortado la conexión mientras se hacía el pago. Compruébala e inténtalo otra vez: no se cobrará dos veces.";

export const BANK_DECLINED =
  "Tu banco no ha aceptado el pago. No se ha hecho ningún cargo. Prueba con otra tarjeta.";

/** Why Bizum or PayPal has sent the buyer back without a payment. */
export const RefusedElsewhere = z.object({
  method: z.enum(["bizum", "paypal"]),
  reason: z.enum(["declined", "expired"]),
});
const SITES = { bizum: "Bizum", paypal: "PayPal" };

export function refusedElsewhere({ method, reason }: z.output<typeof RefusedElsewhere>): string {
  const what =
    reason === "expired"
      ? "ha caducado porque no se aprobó a tiempo"
      : "no se ha hecho: se rechazó o se canceló";
  return `El pago con ${SITES[method]} ${what}. ${OTHER_WAY}`;
}

/** The Spanish message for a card error of Stripe. */
export function cardErrorMessage(error: {
  type?: string;
  code?: string;
  decline_code?: string;
}): string {
  if (error.type === "validation_error") return INCOMPLETE_CARD;
  if (error.type === "api_connection_error") return CONNECTION_LOST;
  const byDeclineCode = error.decline_code && CARD_ERROR_MESSAGES[error.decline_code];
  return byDeclineCode || (error.code && CARD_ERROR_MESSAGES[error.code]) || CARD_DECLINED;
}

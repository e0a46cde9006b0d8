/** What becomes of a payment that the browser has come back from (shop spec, sections 2, 8 and 9). */
import { ApiError, get } from "../../lib/api";
import { OrderByPayment } from "../../schemas/payments";
import { completePayment } from "../payment/calls";

export type Reference = { sessionId: string; paymentIntentId: string };

/** The one that is given. */
export const known = ({ sessionId, paymentIntentId }: Reference): string =>
  sessionId || paymentIntentId;

export type Arrival =
  | { kind: "processing" }
  /** The money has moved. `access`: the e-mail with the credentials is out, or still to come. */
  | { kind: "paid"; order: OrderByPayment; access: "sent" | "preparing" }
  | { kind: "access_failed"; order: OrderByPayment }
  /** The money is here, but staff have to look at it. */
  | { kind: "under_review"; order: OrderByPayment }
  | { kind: "bank_is_confirming"; order: OrderByPayment }
  | { kind: "not_paid" }
  | { kind: "error"; text: string };

export const ARTIFICIAL_DELAY_MS = 2000;
export const POLL_EVERY_MS = 2000;
export const POLL_FOR_MS = 30_000;

/** The specification's sentence for what went wrong, by what its message contains. */
export function errorSentence(message: string): string {
  if (message.includes("Invalid API key")) {
    return "Error de configuración: Clave de API inválida. Contacta al administrador.";
  }
  if (message.includes("401")) return "Error de autenticación. Verifica tu sesión.";
  if (message.includes("404")) return "Orden no encontrada. Verifica el enlace de pago.";
  if (message.includes("Network")) return "Error de conexión. Verifica tu conexión a internet.";
  return "Error al procesar la autenticación.";
}

/** An error of ours in the words that `errorSentence` looks for. */
export function describeError(error: unknown): string {
  if (!(error instanceof ApiError)) return "";
  return error.code === "network" ? "Network" : `${error.status} ${error.message}`;
}

export function arrivalOf(order: OrderByPayment, settled: Settled): Arrival {
  if (order.status === "cart" || order.status === "expired") {
    if (order.paidCents > 0) return { kind: "under_review", order };
    if (settled === "refused") return { kind: "not_paid" };
    return { kind: "bank_is_confirming", order };
  }
  if (order.accountStatus === "failed") return { kind: "access_failed", order };
  return { kind: "paid", order, access: order.accountStatus === "created" ? "sent" : "preparing" };
}

/** What complete-payment said: recorded, that there is no payment, or that Stripe can't be asked. */
export type Settled = "told" | "refused" | "unknown";

/**
 * Tell the server of the payment, so that the order completes even without the webhook, then
 * follow it until its access is ready, at most 30 s. Never calls `tell` after `signal` is aborted.
 */
export async function follow(
  reference: Reference,
  tell: (arrival: Arrival) => void,
  signal: AbortSignal,
): Promise<void> {
  let [settled] = await Promise.all([settle(known(reference)), pause(ARTIFICIAL_DELAY_MS)]);
  const until = Date.now() + POLL_FOR_MS;
  for (let first = true; !signal.aborted; first = false) {
    const arrival = await read(reference, settled, signal);
    if (signal.aborted) return;
    // A read that fails in between is tried again; only the first one has nothing to show instead.
    if (arrival.kind !== "error" || first) tell(arrival);
    const waiting =
      arrival.kind === "bank_is_confirming" ||
      (arrival.kind === "paid" && arrival.access === "preparing") ||
      (arrival.kind === "error" && !first);
    if (!waiting || Date.now() + POLL_EVERY_MS > until) return;
    await pause(POLL_EVERY_MS);
    // The webhook may be lost as well: without this the order would wait for reconciliation.
    if (settled === "unknown" && !signal.aborted) settled = await settle(known(reference));
  }
}

async function settle(reference: string): Promise<Settled> {
  return completePayment(reference).then(
    () => "told",
    (error: unknown) => {
      const code = error instanceof ApiError ? error.code : "";
      if (code === "not_confirmed") return "refused";
      // Whatever else fails here, the order itself says how it stands.
      return code === "provider_error" ? "unknown" : "told";
    },
  );
}

async function read(reference: Reference, settled: Settled, signal: AbortSignal): Promise<Arrival> {
  const query = reference.sessionId
    ? { session_id: reference.sessionId }
    : { payment_intent_id: reference.paymentIntentId };
  try {
    const path = `/api/orders/by-payment?${new URLSearchParams(query)}`;
    return arrivalOf(await get(path, OrderByPayment, { signal }), settled);
  } catch (error) {
    return { kind: "error", text: errorSentence(describeError(error)) };
  }
}

const pause = (milliseconds: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

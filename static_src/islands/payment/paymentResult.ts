/** The result of a payment, as the success page shows it. */
import { ApiError, get } from "../../lib/http/api";
import { OrderByPayment } from "../../schemas/orderByPayment";
import { completePayment } from "./checkoutApi";
import { RefusedElsewhere, refusedElsewhere } from "./refusals";

/** The ids in the page's address. One of them is an empty string. */
export type PaymentReference = { sessionId: string; paymentIntentId: string };

/** The id of the Checkout Session or of the PaymentIntent. */
export const referenceId = ({ sessionId, paymentIntentId }: PaymentReference): string =>
  sessionId || paymentIntentId;

type Refund = NonNullable<OrderByPayment["refund"]>;

export type PaymentResult =
  | { kind: "processing" }
  /** The order is paid. `access`: whether the access mail was sent. */
  | { kind: "paid"; order: OrderByPayment; access: "sent" | "preparing" }
  | { kind: "access_failed"; order: OrderByPayment }
  /** The money was returned, in whole or in part. */
  | { kind: "refunded"; order: OrderByPayment; refund: Refund }
  /** The shop has received the money, but staff must review the order. */
  | { kind: "under_review"; order: OrderByPayment }
  | { kind: "bank_is_confirming"; order: OrderByPayment }
  /** `refusal` says why, if Bizum or PayPal has refused the payment. */
  | { kind: "not_paid"; refusal: string }
  /** The bank was confirming the payment and has declined it. */
  | { kind: "declined" }
  | { kind: "error"; text: string };

const ARTIFICIAL_DELAY_MS = 2000;
const POLL_EVERY_MS = 2000;
const POLL_FOR_MS = 30_000;
/** A bank may take minutes: after the first 30 s the page keeps asking, less often. */
const ASK_BANK_EVERY_MS = 15_000;
const ASK_BANK_FOR_MS = 15 * 60_000;

/** The message for a request that failed. */
export function errorMessage(error: unknown): string {
  if (error instanceof ApiError) {
    if (error.message.includes("Invalid API key")) {
      return "Error de configuración: Clave de API inválida. Contacta al administrador.";
    }
    if (error.status === 401) return "Error de autenticación. Verifica tu sesión.";
    if (error.status === 404) return "Orden no encontrada. Verifica el enlace de pago.";
    if (error.code === "network") return "Error de conexión. Verifica tu conexión a internet.";
  }
  return "Error al procesar la autenticación.";
}

/** What an order and the response of complete-payment mean for the buyer. */
export function paymentResult(order: OrderByPayment, completion: Completion): PaymentResult {
  if (order.status === "cart" || order.status === "expired") {
    if (order.paidCents > 0) return { kind: "under_review", order };
    if (completion === "not_paid") return { kind: "not_paid", refusal: "" };
    if (typeof completion === "object") return { kind: "not_paid", ...completion };
    return { kind: "bank_is_confirming", order };
  }
  if (order.refund) return { kind: "refunded", order, refund: order.refund };
  // The access of a gift is not the buyer's: staff see to it.
  if (order.accountStatus === "failed" && !order.gift) return { kind: "access_failed", order };
  return { kind: "paid", order, access: order.accountStatus === "created" ? "sent" : "preparing" };
}

/**
 * The response of complete-payment: `accepted`; `not_paid`, there is no confirmed payment, or the
 * sentence why Bizum or PayPal has refused it; `unavailable`, the server could not reach Stripe.
 */
type Completion = "accepted" | "not_paid" | { refusal: string } | "unavailable";

/**
 * Report the payment to the server, so that the order is completed even if the webhook is lost.
 * Then load the order every 2 s until the student's access is ready, for at most 30 s. Never calls
 * `onResult` after `signal` is aborted.
 */
export async function followPayment(
  reference: PaymentReference,
  onResult: (result: PaymentResult) => void,
  signal: AbortSignal,
): Promise<void> {
  let [completion] = await Promise.all([
    reportPayment(referenceId(reference)),
    wait(ARTIFICIAL_DELAY_MS),
  ]);
  const started = Date.now();
  let bankIsConfirming = false;
  for (let first = true; !signal.aborted; first = false) {
    const loaded = await loadResult(reference, completion, signal);
    if (signal.aborted) return;
    const result: PaymentResult =
      bankIsConfirming && loaded.kind === "not_paid" ? { kind: "declined" } : loaded;
    // If a later request fails, keep showing the last result and try again.
    if (result.kind !== "error" || first) onResult(result);
    if (result.kind !== "error") bankIsConfirming = result.kind === "bank_is_confirming";
    const waiting =
      bankIsConfirming ||
      (result.kind === "paid" && result.access === "preparing" && !result.order.gift) ||
      (result.kind === "error" && !first);
    const pause = nextPause(Date.now() - started, bankIsConfirming);
    if (!waiting || pause === null) return;
    await wait(pause);
    // Report again: the server asks Stripe whether the bank has decided. If the webhook is lost,
    // the order would wait for the reconciliation job.
    if ((bankIsConfirming || completion === "unavailable") && !signal.aborted)
      completion = await reportPayment(referenceId(reference));
  }
}

/** Milliseconds until the next request; null when the page stops asking. */
function nextPause(elapsed: number, bankIsConfirming: boolean): number | null {
  if (elapsed + POLL_EVERY_MS <= POLL_FOR_MS) return POLL_EVERY_MS;
  return bankIsConfirming && elapsed < ASK_BANK_FOR_MS ? ASK_BANK_EVERY_MS : null;
}

async function reportPayment(reference: string): Promise<Completion> {
  return completePayment(reference).then(
    () => "accepted",
    (error: unknown) => {
      const code = error instanceof ApiError ? error.code : "";
      if (error instanceof ApiError && code === "not_confirmed") {
        const refused = RefusedElsewhere.safeParse(error.data);
        return refused.success ? { refusal: refusedElsewhere(refused.data) } : "not_paid";
      }
      // After any other error the order's own status decides.
      return code === "provider_error" || code === "provider_busy" ? "unavailable" : "accepted";
    },
  );
}

async function loadResult(
  reference: PaymentReference,
  completion: Completion,
  signal: AbortSignal,
): Promise<PaymentResult> {
  const query = reference.sessionId
    ? { session_id: reference.sessionId }
    : { payment_intent_id: reference.paymentIntentId };
  try {
    const path = `/api/orders/by-payment?${new URLSearchParams(query)}`;
    return paymentResult(await get(path, OrderByPayment, { signal }), completion);
  } catch (error) {
    return { kind: "error", text: errorMessage(error) };
  }
}

const wait = (milliseconds: number) =>
  new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/**
 * The order of a payment in progress, stored for this tab. When a bank or Stripe's page sends the
 * buyer back without a payment, /cancel uses it to link to the saved cart. After a reload, the shop
 * offers to continue with it. After a payment, /success uses it to let the buyer correct a mistyped
 * address.
 */
import * as z from "zod/mini";
import { PENDING_PAYMENT as KEY, trySessionStorage } from "../../lib/page/sessionStorage";
import type { OrderCredentials } from "../../schemas/checkout";

const PendingPayment = z.object({
  reference: z.string(),
  orderId: z.number(),
  token: z.string(),
  refusal: z.optional(z.string()),
});

/** `reference` is the id of the PaymentIntent or of the Checkout Session. */
export function rememberPayment(reference: string, { orderId, token }: OrderCredentials): void {
  trySessionStorage((storage) =>
    storage.setItem(KEY, JSON.stringify({ reference, orderId, token })),
  );
}

/** Keep why the stored payment was refused on another site, until the order's page is shown. */
export function rememberRefusal(refusal: string): void {
  const stored = unfinishedOrder();
  if (!stored) return;
  trySessionStorage((storage) => storage.setItem(KEY, JSON.stringify({ ...stored, refusal })));
}

/** Why the last payment of this order was refused on another site, once. */
export function takeRefusal(orderId: number): string {
  const stored = unfinishedOrder();
  if (stored?.orderId !== orderId || !stored.refusal) return "";
  rememberPayment(stored.reference, stored);
  return stored.refusal;
}

export function forgetPayment(): void {
  trySessionStorage((storage) => storage.removeItem(KEY));
}

/** The stored order. `reference` is the id of its last payment. Null if there is none. */
export function unfinishedOrder(): z.output<typeof PendingPayment> | null {
  const stored = PendingPayment.safeParse(
    trySessionStorage((storage) => JSON.parse(storage.getItem(KEY) ?? "null")),
  );
  return stored.success ? stored.data : null;
}

/** The order that was stored for this payment or order, or null. */
export function pendingOrder(referenceOrOrderId: string): OrderCredentials | null {
  const stored = unfinishedOrder();
  if (!stored) return null;
  const { reference, orderId, token } = stored;
  const matches = referenceOrOrderId === reference || referenceOrOrderId === `${orderId}`;
  return matches ? { orderId, token } : null;
}

/**
 * The address to go to when a payment was not made. `referenceOrOrderId` identifies the payment;
 * the address has the order's link only if it matches the stored payment.
 */
export function cancelUrl(referenceOrOrderId: string): string {
  const order = pendingOrder(referenceOrOrderId);
  return order ? `/cancel?${orderQuery(order)}` : "/cancel";
}

export const orderQuery = ({ orderId, token }: OrderCredentials): URLSearchParams =>
  new URLSearchParams({ order: `${orderId}`, token });

/** The page of the saved order. A reload of /compra loses the cart; this page has its items. */
export const recoveryUrl = (order: OrderCredentials): string =>
  `/complete-payment?${orderQuery(order)}`;

/**
 * The order of a payment that is being confirmed, kept for this tab: a bank that sends the buyer
 * away and back without a payment leads to /cancel, which then has a way back to their cart.
 */
import * as z from "zod/mini";
import { stored } from "../../lib/storage";
import type { OrderKey } from "./state";

const KEY = "payment";
const Kept = z.object({ paymentIntentId: z.string(), orderId: z.number(), token: z.string() });

export function rememberPayment(paymentIntentId: string, order: OrderKey): void {
  stored((storage) => storage.setItem(KEY, JSON.stringify({ paymentIntentId, ...order })));
}

export function forgetPayment(): void {
  stored((storage) => storage.removeItem(KEY));
}

/** Where a payment that came to nothing leads. */
export function cancelUrl(paymentIntentId: string): string {
  const kept = Kept.safeParse(stored((storage) => JSON.parse(storage.getItem(KEY) ?? "null")));
  if (!kept.success || kept.data.paymentIntentId !== paymentIntentId) return "/cancel";
  const { orderId, token } = kept.data;
  return `/cancel?${new URLSearchParams({ order: String(orderId), token })}`;
}

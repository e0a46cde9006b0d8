/**
 * The order of a payment that is being confirmed, kept for this tab: a bank or a payment page that
 * sends the buyer back without a payment leads to /cancel, which then has a way back to their cart.
 */
import * as z from "zod/mini";
import { stored } from "../../lib/storage";
import type { OrderKey } from "./state";

const KEY = "payment";
const Kept = z.object({ reference: z.string(), orderId: z.number(), token: z.string() });

/** `reference` is the payment's, or its session's on Stripe's own page. */
export function rememberPayment(reference: string, { orderId, token }: OrderKey): void {
  stored((storage) => storage.setItem(KEY, JSON.stringify({ reference, orderId, token })));
}

export function forgetPayment(): void {
  stored((storage) => storage.removeItem(KEY));
}

/** Where a payment that came to nothing leads; `known` is its reference, or its order's number. */
export function cancelUrl(known: string): string {
  const kept = Kept.safeParse(stored((storage) => JSON.parse(storage.getItem(KEY) ?? "null")));
  if (!kept.success) return "/cancel";
  const { reference, orderId, token } = kept.data;
  if (known !== reference && known !== `${orderId}`) return "/cancel";
  return `/cancel?${orderQuery({ orderId, token })}`;
}

export const orderQuery = ({ orderId, token }: OrderKey): URLSearchParams =>
  new URLSearchParams({ order: `${orderId}`, token });

/** The calls of a purchase (api.md), with the names that the code uses. */
import { get, post } from "../../lib/api";
import type { CheckoutItem } from "../../lib/cart";
import type { PaymentType } from "../../lib/quote";
import {
  CheckoutAnswer,
  CompletionAnswer,
  Me,
  PromoAnswer,
  ResendAnswer,
} from "../../schemas/payments";
import { e164 } from "./contact";
import type { OrderKey, Purchase } from "./state";

export type Basket = { items: CheckoutItem[]; totalCents: number };

/** The body of process-checkout. `totalCents` is what the buyer was shown: the server compares. */
export function checkoutBody(
  purchase: Purchase,
  { items, totalCents }: Basket,
  { saveForLater, orderKey = null }: { saveForLater: boolean; orderKey?: string | null },
) {
  const { contact, boxes, order } = purchase;
  return {
    email: contact.email.trim(),
    phone: e164(contact),
    total_amount: totalCents / 100,
    payment_type: purchase.paymentType,
    items,
    promo_code: purchase.promo?.code ?? null,
    quote: purchase.quote,
    buy_again: purchase.buyAgain,
    termsAccepted: contact.termsAccepted,
    privacyAccepted: contact.privacyAccepted,
    adultConfirmed: boxes.adult,
    withdrawalWaived: boxes.withdrawal,
    remindersAccepted: boxes.reminders,
    save_for_later: saveForLater,
    recovery_order_id: order?.orderId ?? null,
    token: order?.token ?? null,
    order_key: orderKey,
  };
}

export function processCheckout(body: ReturnType<typeof checkoutBody>): Promise<CheckoutAnswer> {
  return post("/api/process-checkout", body, CheckoutAnswer);
}

/** The server takes the session of Stripe's own page here too. */
export function completePayment(paymentIntentId: string): Promise<CompletionAnswer> {
  return post("/api/complete-payment", { payment_intent_id: paymentIntentId }, CompletionAnswer);
}

export function resendEmail(paymentIntentId: string): Promise<ResendAnswer> {
  const body = { payment_intent_id: paymentIntentId, resend_email: true };
  return post("/api/complete-payment", body, ResendAnswer);
}

/** `cartCents` is what remains after the other discounts. */
export function validatePromo(request: {
  code: string;
  cartCents: number;
  items: CheckoutItem[];
  paymentType: PaymentType;
  email: string;
  /** The order at the server, once there is one: what it holds of the code must not refuse it. */
  order: OrderKey | null;
}): Promise<PromoAnswer> {
  const body = {
    code: request.code,
    cart_total: request.cartCents / 100,
    cart_items: request.items,
    payment_type: request.paymentType,
    email: request.email.trim(),
    recovery_order_id: request.order?.orderId ?? null,
    token: request.order?.token ?? null,
  };
  return post("/api/validate-promo-code", body, PromoAnswer);
}

export async function signedInStudent() {
  return (await get("/api/me", Me)).student;
}

export const successUrl = (paymentIntentId: string): string =>
  `/success?${new URLSearchParams({ payment_intent_id: paymentIntentId })}`;

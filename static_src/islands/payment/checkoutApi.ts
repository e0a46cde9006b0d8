/** The API calls of a purchase. */
import { get, post } from "../../lib/http/api";
import type { CheckoutItem } from "../../lib/pricing/cart";
import {
  CheckoutResponse,
  CompletionResponse,
  LessonCredit,
  Me,
  type OrderCredentials,
  PromoResponse,
  ResendResponse,
} from "../../schemas/checkout";
import type { PaymentType } from "../../schemas/paymentType";
import type { Pricing } from "../../schemas/pricing";
import { e164 } from "./contact";
import type { Purchase } from "./state";

export type CheckoutCart = {
  items: CheckoutItem[];
  totalCents: number;
  plan: Pricing["instalments"];
};

/**
 * The body of process-checkout. `totalCents` is the total that the buyer was shown: the server
 * refuses with `price_changed` if its own total differs, and instalments if it sells another plan
 * than `plan`. `orderKey` is a random UUID that makes the
 * first checkout idempotent: a repeated request with the same key finds the order instead of
 * creating another.
 */
export function checkoutBody(
  purchase: Purchase,
  { items, totalCents, plan }: CheckoutCart,
  options: { saveForLater: boolean; byTransfer?: boolean; orderKey?: string | null },
) {
  const { contact, boxes, gift, order } = purchase;
  const { saveForLater, byTransfer = false, orderKey = null } = options;
  return {
    email: contact.email.trim(),
    phone: e164(contact),
    total_amount: totalCents / 100,
    payment_type: purchase.paymentType,
    installments: { count: plan.count, every_days: plan.everyDays },
    gift: gift && { ...gift, email: gift.email.trim() },
    shown_gift_email: purchase.shownGiftEmail,
    items,
    promo_code: purchase.promo?.code ?? null,
    quote: purchase.quote,
    buy_again: purchase.buyAgain,
    termsAccepted: contact.termsAccepted,
    privacyAccepted: contact.privacyAccepted,
    adultConfirmed: boxes.adult,
    withdrawalWaived: boxes.withdrawal,
    remindersAccepted: boxes.reminders,
    wallet_boxes: contact.besideWallet ?? false,
    save_for_later: saveForLater,
    by_transfer: byTransfer,
    recovery_order_id: order?.orderId ?? null,
    token: order?.token ?? null,
    order_key: orderKey,
  };
}

export function processCheckout(body: ReturnType<typeof checkoutBody>): Promise<CheckoutResponse> {
  return post("/api/process-checkout", body, CheckoutResponse);
}

/** `paymentIntentId` may also be the id of a Checkout Session of Stripe's hosted page. */
export function completePayment(paymentIntentId: string): Promise<CompletionResponse> {
  return post("/api/complete-payment", { payment_intent_id: paymentIntentId }, CompletionResponse);
}

export function resendEmail(paymentIntentId: string): Promise<ResendResponse> {
  const body = { payment_intent_id: paymentIntentId, resend_email: true };
  return post("/api/complete-payment", body, ResendResponse);
}

/** `cartCents` is the amount that remains after the other discounts. */
export function validatePromo(request: {
  code: string;
  cartCents: number;
  items: CheckoutItem[];
  paymentType: PaymentType;
  email: string;
  /** The existing order, if any: its own reservation of the code must not make the check fail. */
  order: OrderCredentials | null;
}): Promise<PromoResponse> {
  const body = {
    code: request.code,
    cart_total: request.cartCents / 100,
    cart_items: request.items,
    payment_type: request.paymentType,
    email: request.email.trim(),
    recovery_order_id: request.order?.orderId ?? null,
    token: request.order?.token ?? null,
  };
  return post("/api/validate-promo-code", body, PromoResponse);
}

/** The signed-in student with what they have paid for lessons, or null. */
export async function signedInStudent() {
  const { student } = await get("/api/me", Me);
  if (!student) return null;
  // Without the credits the server's price is a surprise, but the purchase goes on.
  const { credits } = await get("/api/lesson-credit", LessonCredit).catch(() => ({ credits: [] }));
  const paidCents = new Map(credits.map(({ subjectId, cents }) => [subjectId, cents]));
  return { ...student, credit: { email: student.email, paidCents } };
}

export const successUrl = (paymentIntentId: string): string =>
  `/success?${new URLSearchParams({ payment_intent_id: paymentIntentId })}`;

/**
 * The state of a purchase, as a reducer without React: contact data, payment type, promo code, the
 * order at the server and its payment. The payment dialog and the recovery page share it.
 */
import type { Promo } from "../../lib/pricing/quote";
import type {
  CheckoutResponse,
  OrderCredentials,
  PricedOrder,
  Transfer,
  UnavailableItem,
} from "../../schemas/checkout";
import type { PaymentType } from "../../schemas/paymentType";
import { type Contact, EMPTY_CONTACT } from "./contact";
import type { Gift, StepErrors } from "./gift";
import type { Refusal } from "./refusals";

/** `promo` is null on the recovery page, where only the server knows the code's discount. */
export type AppliedPromo = { code: string; promo: Promo | null };
/** What a student has paid for lessons: cents by the subject's id. Only their own address gets it. */
export type Credit = { email: string; paidCents: ReadonlyMap<number, number> };
/** The checkboxes of the payment step: of age, waiver of the withdrawal right, cart reminders. */
export type Boxes = { adult: boolean; withdrawal: boolean; reminders: boolean };

type Card = { clientSecret: string; paymentIntentId: string; dueCents: number };

/**
 * The phase of the payment.
 *
 * - `preparing`: process-checkout is running, or the browser is leaving this page.
 * - `redirected`: the browser is leaving for Stripe's hosted payment page.
 * - `card`: the client secret is known and the card form is shown.
 * - `confirming`: Stripe is confirming the card, possibly with a 3-D Secure challenge.
 * - `wallet`: Stripe is confirming a payment that was authorized in a wallet, without a card form.
 * - `finishing`: the card was charged, and complete-payment is running.
 * - `processing`: the bank has not confirmed the payment yet.
 * - `unrecorded`: the card was charged but complete-payment failed. The webhook will record the
 *   payment.
 * - `saving`, `saved`: the cart is being saved, or was saved, for later.
 * - `transfer`: the order waits for a bank transfer.
 */
export type Payment =
  | { phase: "none" }
  | { phase: "preparing" }
  | { phase: "redirected" }
  | ({ phase: "card" } & Card)
  | ({ phase: "confirming" } & Card)
  | ({ phase: "wallet" } & Card)
  | { phase: "finishing"; paymentIntentId: string }
  | { phase: "processing"; paymentIntentId: string }
  | { phase: "unrecorded"; paymentIntentId: string }
  | { phase: "saving" }
  | { phase: "saved" }
  | { phase: "transfer"; transfer: Transfer };

export type Notice =
  | { kind: "price_changed" }
  | { kind: "unavailable" | "already_bought"; items: UnavailableItem[] }
  | { kind: "problem"; text: string }
  /** The buyer may pay from this moment (in milliseconds) on. */
  | { kind: "paused"; until: number; text: string };

export type Purchase = {
  step: "contact" | "summary";
  contact: Contact;
  /** The server's messages for single fields. The form's own validation is in `contact.ts`. */
  contactErrors: StepErrors;
  /** Null if it is no gift; undefined on the recovery page: the order stays what it is. */
  gift: Gift | null | undefined;
  /** The address of the gift that the recovery page shows, "" if it shows none. */
  shownGiftEmail?: string;
  paymentType: PaymentType;
  promo: AppliedPromo | null;
  promoError: string | null;
  /** The signed key of the binding quote; null without a quote or after the buyer gave it up. */
  quote: string | null;
  /** What the signed-in student has paid for lessons. */
  credit: Credit | null;
  /** The signed-in buyer has confirmed buying items that they have already bought. */
  buyAgain: boolean;
  boxes: Boxes;
  order: OrderCredentials | null;
  /**
   * The last PaymentIntent or Checkout Session of the order. Kept when its client secret is
   * dropped.
   */
  lastPaymentId: string | null;
  payment: Payment;
  /** The server's prices for this purchase; null while it is only estimated with `lib/pricing/quote.ts`. */
  priced: PricedOrder | null;
  notice: Notice | null;
};

export type PurchaseEvent =
  | {
      type: "reset";
      student: { contact: Contact; complete: boolean; credit?: Credit } | null;
      quoted?: { key: string; paymentType: PaymentType } | null;
    }
  | { type: "contact_edited"; contact: Contact }
  | { type: "gift_edited"; gift: Gift | null }
  /** A wallet has handed over the buyer's contact data. Step 1 stays open until it has paid. */
  | { type: "wallet_contact"; contact: Contact }
  | { type: "contact_accepted" }
  | { type: "went_back" }
  | { type: "cart_changed" }
  | { type: "payment_type_chosen"; paymentType: PaymentType }
  | { type: "promo_applied"; promo: AppliedPromo }
  | { type: "promo_refused"; text: string }
  | { type: "promo_removed" }
  | { type: "quote_given_up" }
  | { type: "price_accepted" }
  | { type: "buy_again" }
  | { type: "box_ticked"; box: keyof Boxes; ticked: boolean }
  | { type: "preparing" }
  | { type: "saving" }
  | { type: "responded"; response: CheckoutResponse; byWallet?: boolean }
  | { type: "refused"; refusal: Refusal }
  | { type: "returned" }
  | { type: "confirming" }
  | { type: "card_declined"; text: string; final: boolean }
  | { type: "charged"; paymentIntentId: string }
  | { type: "bank_is_confirming"; paymentIntentId: string }
  | { type: "bank_declined"; text: string }
  | { type: "completion_failed" };

export const NEW_PURCHASE: Purchase = {
  step: "contact",
  contact: EMPTY_CONTACT,
  contactErrors: {},
  gift: null,
  paymentType: "full_payment",
  promo: null,
  promoError: null,
  quote: null,
  credit: null,
  buyAgain: false,
  // These checkboxes are never ticked in advance, not even for signed-in students.
  boxes: { adult: false, withdrawal: false, reminders: false },
  order: null,
  lastPaymentId: null,
  payment: { phase: "none" },
  priced: null,
  notice: null,
};

/** Whether a call or a card confirmation is running. The purchase must not change meanwhile. */
export function isBusy({ payment: { phase } }: Purchase): boolean {
  return ["preparing", "redirected", "saving", "confirming", "wallet", "finishing"].includes(phase);
}

/** Whether the purchase has ended: charged, being confirmed by the bank, or saved for later. */
export function isFinished({ payment: { phase } }: Purchase): boolean {
  return ["processing", "unrecorded", "saved", "transfer"].includes(phase);
}

/** Whether the next purchase needs an order of its own: this one is paid, or waits for a transfer. */
export const isOver = ({ payment: { phase } }: Purchase): boolean =>
  phase === "unrecorded" || phase === "transfer";

/** Whether the buyer has to accept a new price before paying. */
export const mustAcceptPrice = ({ notice }: Purchase): boolean => notice?.kind === "price_changed";

export function canPay(purchase: Purchase): boolean {
  const { adult, withdrawal } = purchase.boxes;
  return adult && withdrawal && !isBusy(purchase) && !mustAcceptPrice(purchase);
}

/**
 * Drop the client secret. A payment is for one cart, promo code, contact and payment type, so it is
 * dropped when any of them changes.
 */
function dropPayment(purchase: Purchase): Purchase {
  return { ...purchase, payment: { phase: "none" }, priced: null, notice: null };
}

/** Changes by the buyer, which are ignored while the purchase is busy or finished. */
const EDITS = new Set<PurchaseEvent["type"]>([
  "contact_edited",
  "gift_edited",
  "wallet_contact",
  "contact_accepted",
  "went_back",
  "cart_changed",
  "payment_type_chosen",
  "promo_applied",
  "promo_refused",
  "promo_removed",
  "quote_given_up",
]);

export function purchaseReducer(purchase: Purchase, event: PurchaseEvent): Purchase {
  if (EDITS.has(event.type) && (isBusy(purchase) || isFinished(purchase))) return purchase;
  switch (event.type) {
    case "reset":
      // Keep an unpaid order: a second order would compete with it for the promo code and could be
      // paid as well.
      return {
        ...NEW_PURCHASE,
        ...(isOver(purchase)
          ? {}
          : { order: purchase.order, lastPaymentId: purchase.lastPaymentId }),
        contact: event.student?.contact ?? EMPTY_CONTACT,
        credit: event.student?.credit ?? null,
        step: event.student?.complete ? "summary" : "contact",
        quote: event.quoted?.key ?? null,
        paymentType: event.quoted?.paymentType ?? NEW_PURCHASE.paymentType,
      };
    case "contact_edited":
    case "wallet_contact":
      return { ...dropPayment(purchase), contact: event.contact, contactErrors: {} };
    case "gift_edited":
      return { ...dropPayment(purchase), gift: event.gift, contactErrors: {} };
    case "contact_accepted":
      return { ...purchase, step: "summary" };
    case "went_back":
      return { ...purchase, step: "contact" };
    case "cart_changed":
      return { ...dropPayment(purchase), buyAgain: false };
    case "payment_type_chosen":
      if (event.paymentType === purchase.paymentType) return purchase;
      return { ...dropPayment(purchase), paymentType: event.paymentType };
    case "promo_applied":
      return { ...dropPayment(purchase), promo: event.promo, promoError: null };
    case "promo_refused":
      return { ...purchase, promoError: event.text };
    case "promo_removed":
      return { ...dropPayment(purchase), promo: null, promoError: null };
    case "quote_given_up":
      return { ...dropPayment(purchase), quote: null };
    case "price_accepted":
      return { ...purchase, notice: null };
    case "buy_again":
      return { ...purchase, buyAgain: true, notice: null };
    case "box_ticked":
      return { ...purchase, boxes: { ...purchase.boxes, [event.box]: event.ticked } };
    case "preparing":
      return { ...purchase, payment: { phase: "preparing" }, notice: null };
    case "saving":
      return { ...purchase, payment: { phase: "saving" }, notice: null };
    case "responded":
      return afterResponse(purchase, event.response, event.byWallet ? "wallet" : "card");
    case "refused":
      return afterRefusal(purchase, event.refusal);
    case "returned":
      // This page does not know whether the buyer has paid. The server checks before a new payment.
      return { ...purchase, payment: { phase: "none" } };
    case "confirming":
      if (purchase.payment.phase !== "card") return purchase;
      return { ...purchase, payment: { ...purchase.payment, phase: "confirming" }, notice: null };
    case "card_declined": {
      const { phase } = purchase.payment;
      if (phase !== "confirming" && phase !== "wallet") return purchase;
      const notice: Notice = { kind: "problem", text: event.text };
      const payment: Payment = event.final
        ? { phase: "none" }
        : { ...purchase.payment, phase: "card" };
      return { ...purchase, step: "summary", payment, notice };
    }
    case "charged":
      return {
        ...purchase,
        payment: { phase: "finishing", paymentIntentId: event.paymentIntentId },
        notice: null,
      };
    case "bank_is_confirming":
      return {
        ...purchase,
        payment: { phase: "processing", paymentIntentId: event.paymentIntentId },
        notice: null,
      };
    case "bank_declined":
      if (purchase.payment.phase !== "processing") return purchase;
      return {
        ...purchase,
        payment: { phase: "none" },
        notice: { kind: "problem", text: event.text },
      };
    case "completion_failed": {
      if (purchase.payment.phase !== "finishing") return purchase;
      return { ...purchase, payment: { ...purchase.payment, phase: "unrecorded" } };
    }
  }
}

function afterResponse(
  purchase: Purchase,
  response: CheckoutResponse,
  phase: "card" | "wallet",
): Purchase {
  const updated: Purchase = {
    ...purchase,
    order: { orderId: response.orderId, token: response.token },
    priced: response.priced,
    payment: { phase: "none" },
    notice: null,
  };
  switch (response.next.kind) {
    case "card": {
      const { clientSecret, paymentIntentId, dueCents } = response.next;
      return {
        ...updated,
        lastPaymentId: paymentIntentId,
        payment: { phase, clientSecret, paymentIntentId, dueCents },
      };
    }
    case "saved":
      return { ...updated, payment: { phase: "saved" } };
    case "transfer":
      return { ...updated, payment: { phase: "transfer", transfer: response.next.transfer } };
    case "hosted":
      return {
        ...updated,
        lastPaymentId: response.next.sessionId,
        payment: { phase: "redirected" },
      };
    case "completed":
      // The browser is leaving for the success page: keep everything disabled.
      return { ...updated, payment: { phase: "preparing" } };
    case "none":
      return updated;
  }
}

function afterRefusal(purchase: Purchase, refusal: Refusal): Purchase {
  // A wallet pays from step 1, too. What the server has refused is shown in step 2.
  const open: Purchase = { ...purchase, step: "summary", payment: { phase: "none" } };
  switch (refusal.kind) {
    case "price_changed":
      return { ...open, priced: refusal.priced, notice: { kind: "price_changed" } };
    case "unavailable":
    case "already_bought":
      return { ...open, notice: { kind: refusal.kind, items: refusal.items } };
    case "promo_refused":
      return { ...dropPayment(open), promo: null, promoError: refusal.text };
    case "instalments_refused":
      return {
        ...dropPayment(open),
        paymentType: "full_payment",
        notice: { kind: "problem", text: refusal.text },
      };
    case "contact":
      return { ...open, step: "contact", contactErrors: refusal.errors };
    case "order_gone":
      return {
        ...open,
        order: null,
        lastPaymentId: null,
        notice: { kind: "problem", text: refusal.text },
      };
    case "not_prepared":
      return {
        ...open,
        order: refusal.order ?? open.order,
        notice: { kind: "problem", text: refusal.text },
      };
    case "paused": {
      const until = Date.now() + refusal.seconds * 1000;
      return { ...open, notice: { kind: "paused", until, text: refusal.text } };
    }
    case "problem":
      return { ...open, notice: { kind: "problem", text: refusal.text } };
    case "already_paid":
    case "payment_in_progress":
      return open;
  }
}

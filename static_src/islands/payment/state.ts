/**
 * A purchase on its way, as a pure state machine: contact data, what is bought and how, the order
 * at the server, and its payment (shop spec, section 4). The dialog and the recovery page share it.
 */
import type { PaymentType, Promo } from "../../lib/quote";
import type { CheckoutAnswer, PricedOrder, UnavailableItem } from "../../schemas/payments";
import { type Contact, type ContactErrors, EMPTY_CONTACT } from "./contact";
import type { Refusal } from "./refusals";

/** The server's name and key for the order; every later call sends both. */
export type OrderKey = { orderId: number; token: string };
/** `promo` is null where only the server knows what the code takes off (recovery). */
export type AppliedPromo = { code: string; promo: Promo | null };
export type Boxes = { adult: boolean; withdrawal: boolean; reminders: boolean };

type Card = { clientSecret: string; paymentIntentId: string; dueCents: number };

/**
 * `card`: the secret is here and the card form shows. `finishing`: charged, the server is being told.
 * `unrecorded`: charged, but the server could not be told; the webhook will do it. `away`: on
 * Stripe's own page, with this one left behind.
 */
export type Payment =
  | { phase: "none" }
  | { phase: "preparing" }
  | { phase: "away" }
  | ({ phase: "card" } & Card)
  | ({ phase: "confirming" } & Card)
  | { phase: "finishing"; paymentIntentId: string }
  | { phase: "processing"; paymentIntentId: string }
  | { phase: "unrecorded"; paymentIntentId: string }
  | { phase: "saving" }
  | { phase: "saved" };

export type Notice =
  | { kind: "price_changed" }
  | { kind: "unavailable" | "already_bought"; items: UnavailableItem[] }
  | { kind: "problem"; text: string };

export type Purchase = {
  step: "contact" | "summary";
  contact: Contact;
  /** What the server said of single fields; the form's own rules are in `contact.ts`. */
  contactErrors: ContactErrors;
  paymentType: PaymentType;
  promo: AppliedPromo | null;
  promoError: string | null;
  /** The key of the quote that the purchase began with; null without one, or once it is given up. */
  quote: string | null;
  /** Whether the signed-in buyer was told what they own already, and wants it all the same. */
  buyAgain: boolean;
  boxes: Boxes;
  order: OrderKey | null;
  /** The last payment that the server opened for the order, also when its secret is dropped. */
  lastPaymentId: string | null;
  payment: Payment;
  /** The server's own sums for exactly this purchase; null while only `lib/quote.ts` has summed it. */
  priced: PricedOrder | null;
  notice: Notice | null;
};

export type PurchaseEvent =
  | {
      type: "reset";
      student: { contact: Contact; complete: boolean } | null;
      quoted?: { key: string; paymentType: PaymentType } | null;
    }
  | { type: "contact_edited"; contact: Contact }
  | { type: "contact_accepted" }
  | { type: "went_back" }
  | { type: "cart_changed" }
  | { type: "payment_type_chosen"; paymentType: PaymentType }
  | { type: "promo_applied"; promo: AppliedPromo }
  | { type: "promo_refused"; text: string }
  | { type: "promo_removed" }
  | { type: "quote_given_up" }
  | { type: "wanted_again" }
  | { type: "box_ticked"; box: keyof Boxes; ticked: boolean }
  | { type: "preparing" }
  | { type: "saving" }
  | { type: "answered"; answer: CheckoutAnswer }
  | { type: "refused"; refusal: Refusal }
  | { type: "came_back" }
  | { type: "confirming" }
  | { type: "card_refused"; text: string; final: boolean }
  | { type: "charged"; paymentIntentId: string }
  | { type: "bank_is_confirming"; paymentIntentId: string }
  | { type: "completion_failed" };

export const NEW_PURCHASE: Purchase = {
  step: "contact",
  contact: EMPTY_CONTACT,
  contactErrors: {},
  paymentType: "full_payment",
  promo: null,
  promoError: null,
  quote: null,
  buyAgain: false,
  // Never ticked beforehand, not even for those who are signed in (decisions, "Card payments").
  boxes: { adult: false, withdrawal: false, reminders: false },
  order: null,
  lastPaymentId: null,
  payment: { phase: "none" },
  priced: null,
  notice: null,
};

/** Whether a call or the card provider is at work: nothing may change under it. */
export function isBusy({ payment: { phase } }: Purchase): boolean {
  return ["preparing", "away", "saving", "confirming", "finishing"].includes(phase);
}

/** Whether nothing is left to decide: the money moves or has moved, or the cart is saved. */
export function isOver({ payment: { phase } }: Purchase): boolean {
  return phase === "processing" || phase === "unrecorded" || phase === "saved";
}

export function mayPay(purchase: Purchase): boolean {
  return purchase.boxes.adult && purchase.boxes.withdrawal && !isBusy(purchase);
}

/** A secret is for one cart, code, contact and payment type: when one changes, it goes. */
function withoutPayment(purchase: Purchase): Purchase {
  return { ...purchase, payment: { phase: "none" }, priced: null, notice: null };
}

const CHANGES = new Set<PurchaseEvent["type"]>([
  "contact_edited",
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
  if (CHANGES.has(event.type) && (isBusy(purchase) || isOver(purchase))) return purchase;
  switch (event.type) {
    case "reset":
      // Everything begins anew, except an unpaid order at the server: a second one would compete
      // with it for its promo code and its payment.
      return {
        ...NEW_PURCHASE,
        ...(purchase.payment.phase === "unrecorded"
          ? {}
          : { order: purchase.order, lastPaymentId: purchase.lastPaymentId }),
        contact: event.student?.contact ?? EMPTY_CONTACT,
        step: event.student?.complete ? "summary" : "contact",
        quote: event.quoted?.key ?? null,
        paymentType: event.quoted?.paymentType ?? NEW_PURCHASE.paymentType,
      };
    case "contact_edited":
      return { ...withoutPayment(purchase), contact: event.contact, contactErrors: {} };
    case "contact_accepted":
      return { ...purchase, step: "summary" };
    case "went_back":
      return { ...purchase, step: "contact" };
    case "cart_changed":
      return { ...withoutPayment(purchase), buyAgain: false };
    case "payment_type_chosen":
      if (event.paymentType === purchase.paymentType) return purchase;
      return { ...withoutPayment(purchase), paymentType: event.paymentType };
    case "promo_applied":
      return { ...withoutPayment(purchase), promo: event.promo, promoError: null };
    case "promo_refused":
      return { ...purchase, promoError: event.text };
    case "promo_removed":
      return { ...withoutPayment(purchase), promo: null, promoError: null };
    case "quote_given_up":
      return { ...withoutPayment(purchase), quote: null };
    case "wanted_again":
      return { ...purchase, buyAgain: true, notice: null };
    case "box_ticked":
      return { ...purchase, boxes: { ...purchase.boxes, [event.box]: event.ticked } };
    case "preparing":
      return { ...purchase, payment: { phase: "preparing" }, notice: null };
    case "saving":
      return { ...purchase, payment: { phase: "saving" }, notice: null };
    case "answered":
      return afterAnswer(purchase, event.answer);
    case "refused":
      return afterRefusal(purchase, event.refusal);
    case "came_back":
      // Without having paid, as far as this page knows; the server asks before it takes a payment.
      return { ...purchase, payment: { phase: "none" } };
    case "confirming":
      if (purchase.payment.phase !== "card") return purchase;
      return { ...purchase, payment: { ...purchase.payment, phase: "confirming" }, notice: null };
    case "card_refused": {
      if (purchase.payment.phase !== "confirming") return purchase;
      const notice: Notice = { kind: "problem", text: event.text };
      const payment: Payment = event.final
        ? { phase: "none" }
        : { ...purchase.payment, phase: "card" };
      return { ...purchase, payment, notice };
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
    case "completion_failed": {
      if (purchase.payment.phase !== "finishing") return purchase;
      return { ...purchase, payment: { ...purchase.payment, phase: "unrecorded" } };
    }
  }
}

function afterAnswer(purchase: Purchase, answer: CheckoutAnswer): Purchase {
  const answered: Purchase = {
    ...purchase,
    order: { orderId: answer.orderId, token: answer.token },
    priced: answer.priced,
    payment: { phase: "none" },
    notice: null,
  };
  switch (answer.next.kind) {
    case "card": {
      const { clientSecret, paymentIntentId, dueCents } = answer.next;
      return {
        ...answered,
        lastPaymentId: paymentIntentId,
        payment: { phase: "card", clientSecret, paymentIntentId, dueCents },
      };
    }
    case "saved":
      return { ...answered, payment: { phase: "saved" } };
    case "hosted":
      return { ...answered, lastPaymentId: answer.next.sessionId, payment: { phase: "away" } };
    case "completed":
      // The browser is on its way to another page: nothing here may be pressed any more.
      return { ...answered, payment: { phase: "preparing" } };
    case "none":
      return answered;
  }
}

function afterRefusal(purchase: Purchase, refusal: Refusal): Purchase {
  const open: Purchase = { ...purchase, payment: { phase: "none" } };
  switch (refusal.kind) {
    case "price_changed":
      return { ...open, priced: refusal.priced, notice: { kind: "price_changed" } };
    case "unavailable":
    case "already_bought":
      return { ...open, notice: { kind: refusal.kind, items: refusal.items } };
    case "promo_refused":
      return { ...withoutPayment(open), promo: null, promoError: refusal.text };
    case "instalments_refused":
      return {
        ...withoutPayment(open),
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
    case "problem":
      return { ...open, notice: { kind: "problem", text: refusal.text } };
    case "already_paid":
    case "payment_in_progress":
      return open;
  }
}

/** The price of the cart as the page estimates it, until the server has priced the order. */

import { bindingPriceOf } from "../../lib/pricing/bindingPrice";
import type { BindingQuote } from "../../lib/pricing/bindingQuote";
import {
  type CartLine,
  chosenLessons,
  isComplete,
  removeLesson,
  removeSubject,
  toPricedItems,
} from "../../lib/pricing/cart";
import { BINDING_QUOTE_NAME, quoteCart } from "../../lib/pricing/quote";
import type { PricedLine, PricedOrder, UnavailableItem } from "../../schemas/checkout";
import type { Pricing } from "../../schemas/pricing";
import type { Purchase } from "./state";

/**
 * The cart priced by `lib/pricing/quote.ts`, in the format of the server's priced order. `bindingQuote` is
 * the quote whose link was opened; it is ignored once the buyer has given it up (`quote` is null).
 */
export function estimateOrder(
  pricing: Pricing,
  cart: CartLine[],
  purchase: Pick<Purchase, "paymentType" | "promo" | "quote" | "credit" | "contact" | "gift">,
  bindingQuote: BindingQuote | null = null,
): PricedOrder {
  const { paymentType, promo, quote } = purchase;
  const { bindingCents, notice } = bindingPriceOf(
    pricing,
    quote === null ? null : bindingQuote,
    cart,
    paymentType,
  );
  const options = { paymentType, promo: promo?.promo ?? null, bindingCents };
  const { lines, discounts, totalCents } = quoteCart(
    pricing,
    toPricedItems(cart, paidCents(purchase)),
    options,
  );
  const named = cart.flatMap((line): Pick<PricedLine, "subjectId" | "lessonId" | "name">[] =>
    isComplete(line)
      ? [{ subjectId: line.subject.id, lessonId: null, name: line.subject.name }]
      : chosenLessons(line).map((lesson) => ({
          subjectId: line.subject.id,
          lessonId: lesson.id,
          name: `${line.subject.name}: ${lesson.title}`,
        })),
  );
  // `lines` has one price per item, in the cart's order.
  return {
    lines: named.map((name, index) => ({ ...name, ...(lines[index] as (typeof lines)[number]) })),
    discounts,
    totalCents,
    quoteNotice: notice,
  };
}

/** What counts as paid for the buyer's own lessons: nothing for a gift or another address. */
function paidCents({ credit, contact, gift }: Pick<Purchase, "credit" | "contact" | "gift">) {
  const isOwn = credit?.email.toLowerCase() === contact.email.trim().toLowerCase();
  return isOwn && !gift ? credit?.paidCents : undefined;
}

/** The least total for instalments: today's, or that of the quote unless it was given up. */
export function instalmentMinimum(
  pricing: Pricing,
  cart: CartLine[],
  { quote }: Pick<Purchase, "quote">,
  bindingQuote: BindingQuote | null,
): number {
  const today = pricing.instalments.minimumTotalCents;
  return quote !== null && bindingQuote
    ? bindingQuote.instalmentMinimumFor(toPricedItems(cart), today)
    : today;
}

/**
 * Whether an order has a quote's binding price. It may also have a notice, when the quote's friend
 * code discount could not be applied.
 */
export function isAtQuotedPrice({ discounts, quoteNotice }: PricedOrder): boolean {
  return quoteNotice === null || discounts.some(({ name }) => name === BINDING_QUOTE_NAME);
}

/** The amount that a promo code's discount is taken from. */
export function centsBeforePromo(pricing: Pricing, cart: CartLine[], purchase: Purchase): number {
  return estimateOrder(pricing, cart, { ...purchase, promo: null }).totalCents;
}

/** The cart with the server's prices. Returns the same object if no price differs. */
export function withPrices(cart: CartLine[], lines: PricedLine[]): CartLine[] {
  const price = (subjectId: number, lessonId: number | null) =>
    lines.find((line) => line.subjectId === subjectId && line.lessonId === lessonId)?.priceCents;
  let changed = false;
  const fresh = <T>(before: T, after: T | undefined): T => {
    if (after === undefined || after === before) return before;
    changed = true;
    return after;
  };
  const priced = cart.map((line) => ({
    ...line,
    subject: {
      ...line.subject,
      finalPriceCents: fresh(line.subject.finalPriceCents, price(line.subject.id, null)),
      lessons: line.subject.lessons.map((lesson) => ({
        ...lesson,
        priceCents: fresh(lesson.priceCents, price(line.subject.id, lesson.id)),
      })),
    },
  }));
  return changed ? priced : cart;
}

export function withoutItems(cart: CartLine[], items: UnavailableItem[]): CartLine[] {
  return items.reduce(
    (rest, { subjectId, lessonId }) =>
      lessonId === null ? removeSubject(rest, subjectId) : removeLesson(rest, subjectId, lessonId),
    cart,
  );
}

/** A key for the cart's items without their prices. A payment is for exactly these items. */
export function cartContentKey(cart: CartLine[]): string {
  return JSON.stringify(cart.map(({ subject, lessonIds }) => [subject.id, lessonIds]));
}

/** The cart as the dialog shows and sends it, until the server has summed it itself. */

import { boundBy } from "../../lib/bound";
import {
  type CartLine,
  chosenLessons,
  isComplete,
  removeLesson,
  removeSubject,
  toPricedItems,
} from "../../lib/cart";
import type { Offer } from "../../lib/offer";
import { OFFER_NAME, quoteCart } from "../../lib/quote";
import type { PricedLine, PricedOrder, UnavailableItem } from "../../schemas/payments";
import type { Pricing } from "../../schemas/pricing";
import type { Purchase } from "./state";

/**
 * What `lib/quote.ts` makes of the cart, in the shape and with the names of the server. `offer` is
 * the quote whose link was opened.
 */
export function quotedOrder(
  pricing: Pricing,
  cart: CartLine[],
  { paymentType, promo, quote }: Pick<Purchase, "paymentType" | "promo" | "quote">,
  offer: Offer | null = null,
): PricedOrder {
  const { bindingCents, notice } = boundBy(quote === null ? null : offer, cart, paymentType);
  const options = { paymentType, promo: promo?.promo ?? null, bindingCents };
  const { lines, discounts, totalCents } = quoteCart(pricing, toPricedItems(cart), options);
  const named = cart.flatMap((line): Pick<PricedLine, "subjectId" | "lessonId" | "name">[] =>
    isComplete(line)
      ? [{ subjectId: line.subject.id, lessonId: null, name: line.subject.name }]
      : chosenLessons(line).map((lesson) => ({
          subjectId: line.subject.id,
          lessonId: lesson.id,
          name: `${line.subject.name}: ${lesson.title}`,
        })),
  );
  // The quote has one line per thing, in the cart's order.
  return {
    lines: named.map((name, index) => ({ ...name, ...(lines[index] as (typeof lines)[number]) })),
    discounts,
    totalCents,
    quoteNotice: notice,
  };
}

/** Whether an order is at a quote's price, be it the whole of it or without its friend's part. */
export function isAtQuotedPrice({ discounts, quoteNotice }: PricedOrder): boolean {
  return quoteNotice === null || discounts.some(({ name }) => name === OFFER_NAME);
}

/** What remains for a promo code to take from. */
export function centsBeforePromo(pricing: Pricing, cart: CartLine[], purchase: Purchase): number {
  return quotedOrder(pricing, cart, { ...purchase, promo: null }).totalCents;
}

/** The cart with the server's prices; the very same cart where they are its own. */
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

/** Which things are in the cart, whatever they cost: a payment is for exactly these. */
export function contentKey(cart: CartLine[]): string {
  return JSON.stringify(cart.map(({ subject, lessonIds }) => [subject.id, lessonIds]));
}

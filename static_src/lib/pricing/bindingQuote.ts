/**
 * A binding quote: its price holds for exactly the subjects and the payment type that were quoted.
 * The rules are those of `apps/pricing/rules.py`, proved by the same golden cases, and the messages
 * are the server's, so that the page can show them without a request.
 *
 * This module is loaded only with a quote's link. It imports types only: code shared with the page
 * would be split into one more file that every visitor has to fetch.
 */

import type { PaymentType } from "../../schemas/paymentType";
import type { PricedItem } from "./quote";

/** The order lines: a single lesson is not complete, so its cart never matches a quote. */
type Items = readonly Pick<PricedItem, "subjectId" | "complete">[];

type QuoteMismatch = "other_subjects" | "other_payment_type" | "cheaper_today";

/** What was quoted: exactly these complete subjects, this payment type, this price. */
type BindingQuoteTerms = { subjectIds: number[]; paymentType: PaymentType; priceCents: number };

/**
 * The binding price, or a notice that says why the quote does not bind. Both null without a quote.
 */
export type BindingPrice = { bindingCents: number | null; notice: string | null };

/** `key` is the signed id in the quote's link; process-checkout takes it as `quote`. */
export type BindingQuote = {
  key: string;
  paymentType: PaymentType;
  priceCents: number;
  /** For example "hasta el 5 de diciembre de 2026, con pago completo". */
  conditions: string;
  /** `todayCents` is what the cart costs today without the quote: it never costs more than that. */
  priceFor(items: Items, paymentType: PaymentType, todayCents: number): BindingPrice;
  /** The least total for instalments of these items, given today's: that of the quote if it is for them. */
  instalmentMinimumFor(items: Items, todayCents: number): number;
};

const TODAY = "Se aplican los precios de hoy.";

const lastDay = new Intl.DateTimeFormat("es-ES", { dateStyle: "long", timeZone: "Europe/Madrid" });

export function makeBindingQuote(
  key: string,
  terms: BindingQuoteTerms & { validUntil: Date; instalmentMinimumCents: number },
): BindingQuote {
  const { paymentType, priceCents, validUntil } = terms;
  const how = paymentType === "full_payment" ? "con pago completo" : "a plazos";
  return {
    key,
    paymentType,
    priceCents,
    conditions: `hasta el ${lastDay.format(validUntil)}, ${how}`,
    priceFor(items, chosenType, todayCents) {
      const mismatch = quoteMismatch(terms, items, chosenType, todayCents);
      return mismatch
        ? { bindingCents: null, notice: `${mismatchMessage(mismatch, paymentType)} ${TODAY}` }
        : { bindingCents: priceCents, notice: null };
    },
    instalmentMinimumFor(items, todayCents) {
      // Also if the cart costs less today than was quoted.
      const isQuoted = !quoteMismatch(terms, items, "installment", priceCents);
      return isQuoted ? terms.instalmentMinimumCents : todayCents;
    },
  };
}

/**
 * Why a quote's price does not bind for a cart, or null if it binds. Whether the quote has
 * expired or was used already is for the server to check.
 */
export function quoteMismatch(
  quoted: BindingQuoteTerms,
  items: Items,
  paymentType: PaymentType,
  todayCents: number,
): QuoteMismatch | null {
  const ids = items.map(({ subjectId }) => subjectId);
  const same =
    ids.length === quoted.subjectIds.length && quoted.subjectIds.every((id) => ids.includes(id));
  if (!same || !items.every(({ complete }) => complete)) return "other_subjects";
  if (paymentType !== quoted.paymentType) return "other_payment_type";
  return todayCents < quoted.priceCents ? "cheaper_today" : null;
}

function mismatchMessage(mismatch: QuoteMismatch, quoted: PaymentType): string {
  switch (mismatch) {
    case "other_subjects":
      return "El precio de tu presupuesto es para exactamente sus asignaturas, completas.";
    case "other_payment_type":
      return `El precio de tu presupuesto es para ${quoted === "full_payment" ? "el pago completo" : "el pago a plazos"}.`;
    case "cheaper_today":
      return "Hoy tu compra cuesta menos que en tu presupuesto.";
  }
}

/**
 * A quote that binds: the rules of `apps/pricing/rules.py` (`offer_mismatch`, the same golden cases)
 * and the sentences of `apps/orders/offers.py`, said before the server has to say them.
 *
 * It comes with a quote's link alone, and imports nothing: what it shared with the page's own code
 * would be split off into files that everybody waits for.
 */
import type { Bound } from "./bound";
import type { Cart } from "./cart";
import type { PaymentType } from "./quote";

export type OfferMismatch = "other_subjects" | "other_payment_type" | "cheaper_today";

/** What a quote binds to: exactly these subjects, complete, paid in this way, at this price. */
export type OfferTerms = { subjectIds: number[]; paymentType: PaymentType; priceCents: number };

/** `key` is the signed id of the link, which process-checkout takes as `quote`. */
export type Offer = {
  key: string;
  paymentType: PaymentType;
  priceCents: number;
  /** "hasta el 5 de diciembre de 2026, con pago completo" */
  conditions: string;
  boundBy(cart: Cart, paymentType: PaymentType): Bound;
};

const TODAY = "Se aplican los precios de hoy.";

const lastDay = new Intl.DateTimeFormat("es-ES", { dateStyle: "long", timeZone: "Europe/Madrid" });

export function makeOffer(key: string, terms: OfferTerms & { validUntil: Date }): Offer {
  const { paymentType, priceCents, validUntil } = terms;
  const how = paymentType === "full_payment" ? "con pago completo" : "a plazos";
  return {
    key,
    paymentType,
    priceCents,
    conditions: `hasta el ${lastDay.format(validUntil)}, ${how}`,
    boundBy(cart, wanted) {
      const mismatch = offerMismatch(terms, chosenOf(cart), wanted);
      return mismatch
        ? { bindingCents: null, notice: `${reason(mismatch, paymentType)} ${TODAY}` }
        : { bindingCents: priceCents, notice: null };
    },
  };
}

/**
 * Why a quote does not bind for a cart, or null where it does (decisions, "Calculator"). Its term
 * and its one use are the server's to know.
 */
export function offerMismatch(
  offer: OfferTerms,
  chosen: readonly { subjectId: number; priceCents: number; complete: boolean }[],
  paymentType: PaymentType,
): OfferMismatch | null {
  const ids = chosen.map(({ subjectId }) => subjectId);
  const same =
    ids.length === offer.subjectIds.length && offer.subjectIds.every((id) => ids.includes(id));
  if (!same || !chosen.every(({ complete }) => complete)) return "other_subjects";
  if (paymentType !== offer.paymentType) return "other_payment_type";
  const today = chosen.reduce((sum, { priceCents }) => sum + priceCents, 0);
  return today < offer.priceCents ? "cheaper_today" : null;
}

/** Lessons make a cart another one whatever they cost. */
function chosenOf(cart: Cart) {
  return cart.map(({ subject, lessonIds }) => ({
    subjectId: subject.id,
    priceCents: subject.finalPriceCents,
    complete: lessonIds.length === 0,
  }));
}

function reason(mismatch: OfferMismatch, quoted: PaymentType): string {
  switch (mismatch) {
    case "other_subjects":
      return "El precio de tu presupuesto es para exactamente sus asignaturas, completas.";
    case "other_payment_type":
      return `El precio de tu presupuesto es para ${quoted === "full_payment" ? "el pago completo" : "el pago a plazos"}.`;
    case "cheaper_today":
      return "Hoy la suma de los precios es menor que tu presupuesto.";
  }
}

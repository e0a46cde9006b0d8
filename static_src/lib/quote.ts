/**
 * The price rules of `apps/pricing/rules.py` for instant feedback, over the numbers that the server
 * sends as data, on integer cents. Both run `apps/pricing/golden_cases.json`, so that they
 * cannot drift; the server alone decides what is charged.
 */
import type { Campaign, Pricing } from "../schemas/pricing";
import {
  campaignName,
  type Discount,
  fullPaymentName,
  sum,
  VOLUME_NAME,
  volumeDiscountCents,
} from "./discounts";
import { halfUp } from "./money";

export type PaymentType = "full_payment" | "installment";
export type InstalmentsRefusal = "no_complete_subject" | "below_minimum";

/** A complete subject at its final price, or a single lesson at its price. */
export type Item = { priceCents: number; complete: boolean };

/** `value` is in hundredths: of a percent for PORCENTAJE, of a euro (cents) for FIJO. */
export type Promo = { kind: "PORCENTAJE" | "FIJO"; value: number; isReferral: boolean };

export type CartLine = { listPriceCents: number; priceCents: number };

/** The list total less all discounts is the total; `promoCents` is the promo code's part. */
export type CartQuote = {
  lines: CartLine[];
  discounts: Discount[];
  listTotalCents: number;
  subtotalCents: number;
  totalCents: number;
  promoCents: number;
};

const PROMO_NAME = "Código promocional";
export const OFFER_NAME = "Precio de tu presupuesto";

function listPriceCents(priceCents: number, campaign: Campaign | null): number {
  return campaign?.pricesIncludeIt ? halfUp(priceCents * 100, 100 - campaign.percent) : priceCents;
}

/**
 * The price of a cart (decisions, "Cart"). Discounts in order: campaign, volume (complete subjects
 * only), full payment, promo code on what remains. None takes more than remains: they add up
 * to the list total less the total. `bindingCents` is the price of a quote that binds for this cart
 * (`lib/offer.ts`): one line takes the place of all others, a promo code's included.
 */
export function quoteCart(
  pricing: Pricing,
  items: readonly Item[],
  {
    paymentType,
    promo,
    bindingCents = null,
  }: { paymentType: PaymentType; promo: Promo | null; bindingCents?: number | null },
): CartQuote {
  const campaign = pricing.campaign?.cart ? pricing.campaign : null;
  const lines = items.map(({ priceCents }) => ({
    listPriceCents: listPriceCents(priceCents, campaign),
    priceCents,
  }));
  const listTotalCents = sum(lines.map((line) => line.listPriceCents));
  const subtotalCents = sum(lines.map((line) => line.priceCents));
  const completeSubjects = items.filter((item) => item.complete).length;

  const discounts: Discount[] = [];
  let remainingCents = listTotalCents;
  const take = (name: string, cents: number): number => {
    const amountCents = Math.min(cents, remainingCents);
    if (amountCents > 0) {
      discounts.push({ name, amountCents });
      remainingCents -= amountCents;
    }
    return amountCents;
  };

  if (bindingCents !== null) {
    take(OFFER_NAME, listTotalCents - bindingCents);
    return {
      lines,
      discounts,
      listTotalCents,
      subtotalCents,
      totalCents: remainingCents,
      promoCents: 0,
    };
  }
  if (campaign) {
    take(
      campaignName(campaign),
      campaign.pricesIncludeIt
        ? listTotalCents - subtotalCents
        : halfUp(subtotalCents * campaign.percent, 100),
    );
  }
  take(VOLUME_NAME, volumeDiscountCents(pricing, completeSubjects));
  if (paymentType === "full_payment") {
    const percent = pricing.fullPaymentPercent;
    take(fullPaymentName(percent), halfUp(subtotalCents * percent, 100));
  }
  const promoApplies = promo !== null && (completeSubjects > 0 || !promo.isReferral);
  const promoCents = promoApplies ? take(PROMO_NAME, promoDiscountCents(promo, remainingCents)) : 0;

  return {
    lines,
    discounts,
    listTotalCents,
    subtotalCents,
    totalCents: remainingCents,
    promoCents,
  };
}

/** What a code takes off the rest that other discounts left; never more than it. */
export function promoDiscountCents({ kind, value }: Promo, remainingCents: number): number {
  return kind === "FIJO" ? Math.min(value, remainingCents) : halfUp(remainingCents * value, 10_000);
}

/** Equal payments; what does not divide goes on the first (decisions, "Cart"). */
export function splitInstalments(pricing: Pricing, totalCents: number): [number, ...number[]] {
  const { count } = pricing.instalments;
  const rest = totalCents % count;
  const share = (totalCents - rest) / count;
  return [share + rest, ...Array<number>(count - 1).fill(share)];
}

/** What the first payment takes: the total, or the first instalment. */
export function dueNowCents(
  pricing: Pricing,
  totalCents: number,
  paymentType: PaymentType,
): number {
  if (paymentType === "full_payment") return totalCents;
  return splitInstalments(pricing, totalCents)[0];
}

/** Why a cart can't be paid in instalments, or null when it can. */
export function instalmentsRefusal(
  pricing: Pricing,
  items: readonly Item[],
  totalCents: number,
): InstalmentsRefusal | null {
  if (!items.some((item) => item.complete)) return "no_complete_subject";
  return totalCents < pricing.instalments.minimumTotalCents ? "below_minimum" : null;
}

/** A card's list price final / (1 - d) and discount in whole euros (decisions, "Catalogue"). */
export function subjectCard(
  finalPriceCents: number,
  totalDiscountsPercent: number,
): { listPriceCents: number; discountEuros: number } {
  const remainingPercent = 100 - totalDiscountsPercent;
  return {
    listPriceCents: halfUp(finalPriceCents * 100, remainingPercent),
    discountEuros: halfUp(finalPriceCents * totalDiscountsPercent, remainingPercent * 100),
  };
}

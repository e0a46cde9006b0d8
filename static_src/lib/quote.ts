/**
 * The price rules of `apps/pricing/rules.py` for instant feedback, over the numbers that the server
 * sends as data, on integer cents. Both run `apps/pricing/golden_cases.json`, so that they
 * cannot drift; the server alone decides what is charged.
 */
import type { Campaign, Pricing } from "../schemas/pricing";
import { halfUp } from "./money";

export type PaymentType = "full_payment" | "installment";
export type InstalmentsRefusal = "no_complete_subject" | "below_minimum";

/** A complete subject at its final price, or a single lesson at its price. */
export type Item = { priceCents: number; complete: boolean };

/** `value` is in hundredths: of a percent for PORCENTAJE, of a euro (cents) for FIJO. */
export type Promo = { kind: "PORCENTAJE" | "FIJO"; value: number; isReferral: boolean };

/** A named amount that is taken off; always more than 0. */
export type Discount = { name: string; amountCents: number };

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

export type CalculatorQuote = { baseCents: number; discounts: Discount[]; finalCents: number };

const VOLUME_NAME = "Descuento por volumen";
const PROMO_NAME = "Código promocional";
const INVITED_NAME = "Código de amigo";
const INVITEES_NAME = "Amigos invitados";

const fullPaymentName = (percent: number) => `Pago completo (${percent} %)`;
const campaignName = ({ name, percent }: Campaign) =>
  `Descuento de ${name.toLowerCase()} (${percent} %)`;
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

function volumeDiscountCents(pricing: Pricing, subjects: number): number {
  return Math.max(0, ...pricing.volume.map(([tier, cents]) => (subjects >= tier ? cents : 0)));
}

function listPriceCents(priceCents: number, campaign: Campaign | null): number {
  return campaign?.pricesIncludeIt ? halfUp(priceCents * 100, 100 - campaign.percent) : priceCents;
}

/**
 * The price of a cart (decisions, "Cart"). Discounts in order: campaign, volume (complete subjects
 * only), full payment, promo code on what remains. None takes more than remains: they add up
 * to the list total less the total.
 */
export function quoteCart(
  pricing: Pricing,
  items: readonly Item[],
  { paymentType, promo }: { paymentType: PaymentType; promo: Promo | null },
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

/**
 * The price of the calculator (decisions, "Calculator"). Percentages are of the base, half up
 * to whole euros. With no subject chosen the base is the unit price times `numberOfSubjects`; a
 * partial choice is an error.
 */
export function quoteCalculator(
  pricing: Pricing,
  subjectPricesCents: readonly number[],
  options: {
    numberOfSubjects: number;
    fullPayment: boolean;
    invitedWithCode: boolean;
    invitees: number;
  },
): CalculatorQuote {
  const { numberOfSubjects, fullPayment, invitedWithCode, invitees } = options;
  const chosen = subjectPricesCents.length;
  if (chosen > 0 && chosen !== numberOfSubjects) {
    throw new RangeError(`${chosen} prices for ${numberOfSubjects} subjects`);
  }
  const baseCents =
    chosen > 0 ? sum(subjectPricesCents) : numberOfSubjects * pricing.unitBasePriceCents;
  const wholeEurosOf = (percent: number) => halfUp(baseCents * percent, 100 * 100) * 100;
  const campaign = pricing.campaign?.calculator ? pricing.campaign : null;

  const discounts: Discount[] = [
    { name: VOLUME_NAME, amountCents: volumeDiscountCents(pricing, numberOfSubjects) },
  ];
  if (campaign) {
    discounts.push({ name: campaignName(campaign), amountCents: wholeEurosOf(campaign.percent) });
  }
  if (fullPayment) {
    const percent = pricing.fullPaymentPercent;
    discounts.push({ name: fullPaymentName(percent), amountCents: wholeEurosOf(percent) });
  }
  if (invitedWithCode) {
    discounts.push({ name: INVITED_NAME, amountCents: pricing.invitedCents });
  }
  discounts.push({
    name: INVITEES_NAME,
    amountCents: Math.min(invitees, pricing.inviteeMax) * pricing.inviteeCents,
  });

  const listed = discounts.filter((discount) => discount.amountCents > 0);
  const offCents = sum(listed.map((discount) => discount.amountCents));
  return { baseCents, discounts: listed, finalCents: Math.max(0, baseCents - offCents) };
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

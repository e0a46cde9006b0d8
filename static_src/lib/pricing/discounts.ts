/**
 * Discount rules shared by the cart's price (`quote.ts`) and the calculator's (`calculator.ts`).
 */
import type { Campaign, Pricing } from "../../schemas/pricing";
import { halfUp } from "./money";

/** A named discount. `amountCents` is always more than 0. */
export type Discount = { name: string; amountCents: number };

export const VOLUME_NAME = "Descuento por volumen";

export const fullPaymentName = (percent: number) => `Pago completo (${percent} %)`;

const MONTHS =
  "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(
    " ",
  );

/**
 * The discount's name for the campaign, as `apps/pricing/rules.py` writes it. Spanish writes months
 * in lower case; any other campaign name stays as staff wrote it.
 */
export function campaignName({ name, percent }: Campaign): string {
  const own = name.trim();
  const month = own.toLowerCase();
  return `Descuento ${MONTHS.includes(month) ? `de ${month}` : own} (${percent} %)`;
}

/**
 * The one campaign that counts in this place for a subject of this degree, as `campaign_for` of
 * `apps/pricing/rules.py` says: the largest of those for its degree and the one for all.
 */
export function campaignFor(
  { campaign, degreeCampaigns }: Pricing,
  degreeId: number | null,
  place: "cart" | "calculator",
): Campaign | null {
  const forAll = campaign?.[place] ? campaign : null;
  const own = degreeCampaigns.find(
    (one) => one[place] && degreeId !== null && one.degreeIds.includes(degreeId),
  );
  return own && own.percent >= (forAll?.percent ?? 0) ? own : forAll;
}

export const sum = (numbers: readonly number[]) =>
  numbers.reduce((total, number) => total + number, 0);

export function volumeDiscountCents(pricing: Pricing, subjects: number): number {
  return Math.max(0, ...pricing.volume.map(([tier, cents]) => (subjects >= tier ? cents : 0)));
}

/** The percentage that the prices of cards, cart and calculator have been reduced by. */
export const includedPercent = (campaign: Campaign | null) =>
  campaign?.cart && campaign.pricesIncludeIt ? campaign.percent : 0;

/** The crossed-out price: the price before a campaign that it already includes, or the price. */
export const listPriceCents = (cents: number, campaign: Campaign | null) =>
  halfUp(cents * 100, 100 - includedPercent(campaign));

/** What the cart's price and the calculator's have in common: `lib/quote.ts`, `lib/calculator.ts`. */
import type { Campaign, Pricing } from "../schemas/pricing";

/** A named amount that is taken off; always more than 0. */
export type Discount = { name: string; amountCents: number };

export const VOLUME_NAME = "Descuento por volumen";

export const fullPaymentName = (percent: number) => `Pago completo (${percent} %)`;
const MONTHS =
  "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre".split(
    " ",
  );

/** Months are common nouns in Spanish; any other name is written as its owner writes it. */
export function campaignName({ name, percent }: Campaign): string {
  const own = name.trim();
  const month = own.toLowerCase();
  return `Descuento ${MONTHS.includes(month) ? `de ${month}` : own} (${percent} %)`;
}

export const sum = (numbers: readonly number[]) =>
  numbers.reduce((total, number) => total + number, 0);

export function volumeDiscountCents(pricing: Pricing, subjects: number): number {
  return Math.max(0, ...pricing.volume.map(([tier, cents]) => (subjects >= tier ? cents : 0)));
}

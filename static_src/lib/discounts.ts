/** What the cart's price and the calculator's have in common: `lib/quote.ts`, `lib/calculator.ts`. */
import type { Campaign, Pricing } from "../schemas/pricing";

/** A named amount that is taken off; always more than 0. */
export type Discount = { name: string; amountCents: number };

export const VOLUME_NAME = "Descuento por volumen";

export const fullPaymentName = (percent: number) => `Pago completo (${percent} %)`;
export const campaignName = ({ name, percent }: Campaign) =>
  `Descuento de ${name.toLowerCase()} (${percent} %)`;
export const sum = (numbers: readonly number[]) =>
  numbers.reduce((total, number) => total + number, 0);

export function volumeDiscountCents(pricing: Pricing, subjects: number): number {
  return Math.max(0, ...pricing.volume.map(([tier, cents]) => (subjects >= tier ? cents : 0)));
}

/**
 * Paying in instalments, by the rules of `apps/pricing/instalments.py`. `quote.test.ts` runs the
 * golden cases on both.
 */
import type { PaymentType } from "../../schemas/paymentType";
import type { Pricing } from "../../schemas/pricing";
import { formatWholeEuros } from "./money";
import type { PricedItem } from "./quote";

type InstalmentsRefusal = "no_complete_subject" | "below_minimum";

type Plan = Pick<Pricing["instalments"], "count">;

/** Equal instalments; the remainder of the division is added to the first. */
export function splitInstalments({ count }: Plan, totalCents: number): [number, ...number[]] {
  const rest = totalCents % count;
  const share = (totalCents - rest) / count;
  return [share + rest, ...Array<number>(count - 1).fill(share)];
}

/** The amount of today's payment: the total, or the first instalment. */
export function dueNowCents(plan: Plan, totalCents: number, paymentType: PaymentType): number {
  return paymentType === "full_payment" ? totalCents : splitInstalments(plan, totalCents)[0];
}

/**
 * Why a cart can't be paid in instalments, or null when it can. `minimumCents` is today's least
 * total, or the lower one that was promised.
 */
export function instalmentsRefusal(
  items: readonly Pick<PricedItem, "complete">[],
  totalCents: number,
  minimumCents: number,
): InstalmentsRefusal | null {
  if (!items.some((item) => item.complete)) return "no_complete_subject";
  return totalCents < minimumCents ? "below_minimum" : null;
}

/** The refusal in Spanish, with the words of the server. */
export function instalmentsRefusalSentence(
  refusal: InstalmentsRefusal,
  minimumCents: number,
): string {
  return refusal === "no_complete_subject"
    ? "Para pagar a plazos hace falta al menos una asignatura completa."
    : `Para pagar a plazos el total debe ser de al menos ${formatWholeEuros(minimumCents)}.`;
}

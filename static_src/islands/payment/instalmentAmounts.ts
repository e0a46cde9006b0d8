import { formatEuros } from "../../lib/money";

/** "3 × 90,33 €", or "90,34 € + 2 × 90,33 €" if the first instalment is different. In cents. */
export function instalmentAmounts(count: number, firstCents: number, restCents: number): string {
  return firstCents === restCents
    ? `${count} × ${formatEuros(restCents)}`
    : `${formatEuros(firstCents)} + ${count - 1} × ${formatEuros(restCents)}`;
}

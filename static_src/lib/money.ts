/** Integer cents in code, a number of euros in the API; twin of `apps/core/money.py`. */

const euros = new Intl.NumberFormat("es-ES", { style: "currency", currency: "EUR" });

/** `numerator / denominator`, halves up, for whole numbers from 0. Exact: the rest goes first. */
export function halfUp(numerator: number, denominator: number): number {
  const doubled = 2 * numerator + denominator;
  return (doubled - (doubled % (2 * denominator))) / (2 * denominator);
}

/** The API's euros (at most two decimals) as cents; the binary error is far below half a cent. */
export function toCents(amount: number): number {
  return Math.round(amount * 100);
}

/** Spanish text, "12.345,67 €", with a no-break space; es-ES groups only from five digits on. */
export function formatEuros(cents: number): string {
  return euros.format(cents / 100);
}

/** Money: integer cents in code, euros in the API. The server's version: `apps/core/money.py`. */

const euros = new Intl.NumberFormat("es-ES", { style: "currency", currency: "EUR" });

/**
 * `numerator / denominator` rounded half up, for non-negative integers. Exact: the remainder is
 * taken off before dividing.
 */
export function halfUp(numerator: number, denominator: number): number {
  const doubled = 2 * numerator + denominator;
  return (doubled - (doubled % (2 * denominator))) / (2 * denominator);
}

/** Cents of an API amount in euros with at most two decimals. */
export function toCents(amount: number): number {
  return Math.round(amount * 100);
}

/** "83 €", or "82,50 €" with cents, for a sentence. */
export function formatWholeEuros(cents: number): string {
  return cents % 100 === 0 ? `${cents / 100} €` : formatEuros(cents);
}

/** Spanish text, "12.345,67 €", with a no-break space. Thousands are grouped from 10.000 on. */
export function formatEuros(cents: number): string {
  return euros.format(cents / 100);
}

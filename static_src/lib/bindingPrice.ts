/**
 * The binding price of a quote for the current cart. The rules are in `lib/bindingQuote.ts`, which
 * is loaded only when a quote's link was opened.
 */

import type { PaymentType } from "../schemas/paymentType";
import type { BindingQuote } from "./bindingQuote";
import type { Cart } from "./cart";

/**
 * The binding price, or a notice that says why the quote does not bind. Both null without a quote.
 */
export type BindingPrice = { bindingCents: number | null; notice: string | null };

export const NO_CODE_WITH_QUOTE =
  "El precio de tu presupuesto no admite además un código promocional.";

export function bindingPriceOf(
  bindingQuote: BindingQuote | null,
  cart: Cart,
  paymentType: PaymentType,
): BindingPrice {
  return bindingQuote && cart.length > 0
    ? bindingQuote.priceFor(cart, paymentType)
    : { bindingCents: null, notice: null };
}

/**
 * The options for pricing the cart before the visitor has chosen a payment type: the quote's
 * payment type while its price binds, else full payment.
 */
export function cartPriceOptions(bindingQuote: BindingQuote | null, cart: Cart) {
  const quotedType = bindingQuote?.paymentType ?? "full_payment";
  const binding = bindingPriceOf(bindingQuote, cart, quotedType);
  const paymentType: PaymentType = binding.bindingCents === null ? "full_payment" : quotedType;
  return { ...binding, paymentType, promo: null };
}

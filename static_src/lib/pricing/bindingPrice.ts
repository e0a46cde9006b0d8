/**
 * The binding price of a quote for the current cart. The rules are in `lib/pricing/bindingQuote.ts`, which
 * is loaded only when a quote's link was opened.
 */

import type { PaymentType } from "../../schemas/paymentType";
import type { Pricing } from "../../schemas/pricing";
import type { BindingPrice, BindingQuote } from "./bindingQuote";
import { type Cart, toPricedItems } from "./cart";
import { quoteCart } from "./quote";

export const NO_CODE_WITH_QUOTE =
  "El precio de tu presupuesto no se puede combinar con un código promocional.";

export function bindingPriceOf(
  pricing: Pricing,
  bindingQuote: BindingQuote | null,
  cart: Cart,
  paymentType: PaymentType,
): BindingPrice {
  if (!bindingQuote || cart.length === 0) return { bindingCents: null, notice: null };
  const items = toPricedItems(cart);
  const today = quoteCart(pricing, items, { paymentType, promo: null });
  return bindingQuote.priceFor(items, paymentType, today.totalCents);
}

/**
 * The options for pricing the cart before the visitor has chosen a payment type: the quote's
 * payment type while its price binds, else full payment.
 */
export function cartPriceOptions(pricing: Pricing, bindingQuote: BindingQuote | null, cart: Cart) {
  const quotedType = bindingQuote?.paymentType ?? "full_payment";
  const binding = bindingPriceOf(pricing, bindingQuote, cart, quotedType);
  const paymentType: PaymentType = binding.bindingCents === null ? "full_payment" : quotedType;
  return { ...binding, paymentType, promo: null };
}

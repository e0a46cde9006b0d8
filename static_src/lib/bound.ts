/** What a quote's link means for the cart; `lib/offer.ts`, which knows, comes with such a link alone. */
import type { Cart } from "./cart";
import type { Offer } from "./offer";
import type { PaymentType } from "./quote";

/** The price that binds, or why it does not; neither without a quote. */
export type Bound = { bindingCents: number | null; notice: string | null };

export const NO_CODE_ON_TOP = "El precio de tu presupuesto no admite además un código promocional.";

export function boundBy(offer: Offer | null, cart: Cart, paymentType: PaymentType): Bound {
  return offer && cart.length > 0
    ? offer.boundBy(cart, paymentType)
    : { bindingCents: null, notice: null };
}

/** How the cart is summed before anybody said how it is paid: as quoted, or at once. */
export function cartTerms(offer: Offer | null, cart: Cart) {
  const quoted = offer?.paymentType ?? "full_payment";
  const bound = boundBy(offer, cart, quoted);
  const paymentType: PaymentType = bound.bindingCents === null ? "full_payment" : quoted;
  return { ...bound, paymentType, promo: null };
}

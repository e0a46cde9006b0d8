/** Test data of a purchase: the server's responses. */
import type { CheckoutNext, CheckoutResponse, PricedOrder } from "../../schemas/checkout";

export const PRICED: PricedOrder = {
  lines: [
    {
      subjectId: 1,
      lessonId: null,
      name: "Asignatura 1",
      listPriceCents: 20_000,
      priceCents: 20_000,
    },
  ],
  discounts: [{ name: "Pago completo (5 %)", amountCents: 1000 }],
  totalCents: 19_000,
  quoteNotice: null,
};

export const CARD_NEXT: CheckoutNext = {
  kind: "card",
  clientSecret: "pi_1_secret_2",
  paymentIntentId: "pi_1",
  dueCents: 19_000,
};

export function checkoutResponse(next: CheckoutNext): CheckoutResponse {
  return { orderId: 12, token: "llave", priced: PRICED, next };
}

/** Test data of a purchase: a subject of 200 € with two lessons of 40 €, and server responses. */
import type { CatalogueSubject } from "../../schemas/catalogue";
import type { CheckoutNext, CheckoutResponse, PricedOrder } from "../../schemas/checkout";
import type { Pricing } from "../../schemas/pricing";

export const PRICING: Pricing = {
  unitBasePriceCents: 24_000,
  volume: [
    [2, 1500],
    [3, 4500],
  ],
  fullPaymentPercent: 5,
  invitedCents: 1500,
  inviteeCents: 2000,
  inviteeMax: 8,
  instalments: { count: 3, everyDays: 20, minimumTotalCents: 3000 },
  campaign: null,
};

export function subject(id: number, priceCents = 20_000): CatalogueSubject {
  const lesson = (lessonId: number) => ({
    id: lessonId,
    title: `PEC ${lessonId}`,
    subjectId: id,
    priceCents: 4000,
    active: true,
  });
  return {
    id,
    name: `Asignatura ${id}`,
    finalPriceCents: priceCents,
    totalDiscounts: 0,
    lowestCents: undefined,
    contents: "2 PECs",
    completeOnly: false,
    enrolledStudents: 0,
    degree: { name: "Economía", university: { id: 1, acronym: "UA" } },
    lessons: [lesson(id * 10 + 1), lesson(id * 10 + 2)],
  };
}

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

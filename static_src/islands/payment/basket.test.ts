import { expect, it } from "vitest";
import type { CartLine } from "../../lib/cart";
import { makeOffer } from "../../lib/offer";
import {
  centsBeforePromo,
  contentKey,
  isAtQuotedPrice,
  quotedOrder,
  withoutItems,
  withPrices,
} from "./basket";
import { checkoutBody } from "./calls";
import { PRICING, subject } from "./fixtures";
import { NEW_PURCHASE, type Purchase } from "./state";

const WHOLE: CartLine = { subject: subject(1), lessonIds: [] };
const TWO_LESSONS: CartLine = { subject: subject(2), lessonIds: [21, 22] };
const CART = [WHOLE, TWO_LESSONS];
const TEN_PERCENT = {
  code: "BIENVENIDA10",
  promo: { kind: "PORCENTAJE" as const, value: 1000, isReferral: false },
};

it("sums the cart as the server will, one line per thing, with the server's names", () => {
  const purchase = { ...NEW_PURCHASE, promo: TEN_PERCENT };
  expect(quotedOrder(PRICING, CART, purchase)).toEqual({
    lines: [
      {
        subjectId: 1,
        lessonId: null,
        name: "Asignatura 1",
        listPriceCents: 20_000,
        priceCents: 20_000,
      },
      {
        subjectId: 2,
        lessonId: 21,
        name: "Asignatura 2: PEC 21",
        listPriceCents: 4000,
        priceCents: 4000,
      },
      {
        subjectId: 2,
        lessonId: 22,
        name: "Asignatura 2: PEC 22",
        listPriceCents: 4000,
        priceCents: 4000,
      },
    ],
    discounts: [
      { name: "Pago completo (5 %)", amountCents: 1400 },
      { name: "Código promocional", amountCents: 2660 },
    ],
    totalCents: 23_940,
    quoteNotice: null,
  });
});

it("tells a promo code's check what the other discounts leave", () => {
  expect(centsBeforePromo(PRICING, CART, { ...NEW_PURCHASE, promo: TEN_PERCENT })).toBe(26_600);
});

it("takes over the server's prices, and leaves a cart alone that has them", () => {
  const { lines } = quotedOrder(PRICING, CART, NEW_PURCHASE);
  expect(withPrices(CART, lines)).toBe(CART);

  const dearer = lines.map((line) => ({ ...line, priceCents: line.priceCents + 500 }));
  const fresh = withPrices(CART, dearer);
  expect(quotedOrder(PRICING, fresh, NEW_PURCHASE).lines.map((line) => line.priceCents)).toEqual([
    20_500, 4500, 4500,
  ]);
  expect(contentKey(fresh)).toBe(contentKey(CART));
});

it("removes what is unavailable and nothing else", () => {
  const gone = [
    { subjectId: 1, lessonId: null, name: "Asignatura 1" },
    { subjectId: 2, lessonId: 21, name: "PEC 21" },
  ];
  expect(withoutItems(CART, gone)).toEqual([{ subject: subject(2), lessonIds: [22] }]);
  expect(contentKey(withoutItems(CART, gone))).not.toBe(contentKey(CART));
});

it("sends process-checkout all fields of the contract, in euros, with the order it has", () => {
  const purchase: Purchase = {
    ...NEW_PURCHASE,
    contact: {
      email: " ana@example.com ",
      prefix: "34",
      phone: "600123123",
      termsAccepted: true,
      privacyAccepted: true,
    },
    promo: TEN_PERCENT,
    boxes: { adult: true, withdrawal: true, reminders: false },
    order: { orderId: 12, token: "llave" },
  };
  expect(
    checkoutBody(purchase, { items: [], totalCents: 23_940 }, { saveForLater: false }),
  ).toEqual({
    email: "ana@example.com",
    phone: "+34600123123",
    total_amount: 239.4,
    payment_type: "full_payment",
    items: [],
    promo_code: "BIENVENIDA10",
    quote: null,
    buy_again: false,
    termsAccepted: true,
    privacyAccepted: true,
    adultConfirmed: true,
    withdrawalWaived: true,
    remindersAccepted: false,
    save_for_later: false,
    recovery_order_id: 12,
    token: "llave",
    order_key: null,
  });
});

it("sums a cart as quoted, where the quote binds and has not been given up", () => {
  const offer = makeOffer("3.firma", {
    subjectIds: [1],
    paymentType: "full_payment",
    priceCents: 18_000,
    validUntil: new Date("2026-12-05T10:00:00+01:00"),
  });
  const quoted = { ...NEW_PURCHASE, quote: "3.firma" };
  expect(quotedOrder(PRICING, [WHOLE], quoted, offer)).toMatchObject({
    discounts: [{ name: "Precio de tu presupuesto", amountCents: 2000 }],
    totalCents: 18_000,
    quoteNotice: null,
  });
  const other = quotedOrder(PRICING, CART, quoted, offer);
  expect(other.totalCents).toBe(26_600);
  expect(other.quoteNotice).toContain("exactamente sus asignaturas");
  expect(quotedOrder(PRICING, [WHOLE], NEW_PURCHASE, offer)).toMatchObject({
    totalCents: 19_000,
    quoteNotice: null,
  });
});

it("knows a quote's price also where the server has left the friend's part out", () => {
  const order = { lines: [], totalCents: 36_250, discounts: [] };
  const offered = [{ name: "Precio de tu presupuesto", amountCents: 1500 }];
  const notice = "Tu presupuesto va sin el descuento de amigo.";
  expect(isAtQuotedPrice({ ...order, discounts: offered, quoteNotice: notice })).toBe(true);
  expect(isAtQuotedPrice({ ...order, discounts: offered, quoteNotice: null })).toBe(true);
  expect(isAtQuotedPrice({ ...order, quoteNotice: "Tu presupuesto caducó." })).toBe(false);
});

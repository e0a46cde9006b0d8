import { expect, it } from "vitest";
import { makeBindingQuote } from "../../lib/pricing/bindingQuote";
import type { CartLine } from "../../lib/pricing/cart";
import { PRICING, subject } from "../../lib/pricing/fixtures";
import { checkoutBody } from "./checkoutApi";
import {
  cartContentKey,
  centsBeforePromo,
  estimateOrder,
  isAtQuotedPrice,
  withoutItems,
  withPrices,
} from "./orderEstimate";
import { NEW_PURCHASE, type Purchase } from "./state";

const COMPLETE: CartLine = { subject: subject(1), lessonIds: [] };
const TWO_LESSONS: CartLine = { subject: subject(2), lessonIds: [21, 22] };
const CART = [COMPLETE, TWO_LESSONS];
const TEN_PERCENT = {
  code: "BIENVENIDA10",
  promo: { kind: "PORCENTAJE" as const, value: 1000, isFriendCode: false },
};

it("estimates the order with one line per item and the discount names of the server", () => {
  const purchase = { ...NEW_PURCHASE, promo: TEN_PERCENT };
  expect(estimateOrder(PRICING, CART, purchase)).toEqual({
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

it("computes the amount that the other discounts leave for a promo code", () => {
  expect(centsBeforePromo(PRICING, CART, { ...NEW_PURCHASE, promo: TEN_PERCENT })).toBe(26_600);
});

it("copies the server's prices into the cart, and returns the same cart if no price differs", () => {
  const { lines } = estimateOrder(PRICING, CART, NEW_PURCHASE);
  expect(withPrices(CART, lines)).toBe(CART);

  const dearer = lines.map((line) => ({ ...line, priceCents: line.priceCents + 500 }));
  const fresh = withPrices(CART, dearer);
  expect(estimateOrder(PRICING, fresh, NEW_PURCHASE).lines.map((line) => line.priceCents)).toEqual([
    20_500, 4500, 4500,
  ]);
  expect(cartContentKey(fresh)).toBe(cartContentKey(CART));
});

it("removes the unavailable items only", () => {
  const gone = [
    { subjectId: 1, lessonId: null, name: "Asignatura 1" },
    { subjectId: 2, lessonId: 21, name: "PEC 21" },
  ];
  expect(withoutItems(CART, gone)).toEqual([{ subject: subject(2), lessonIds: [22] }]);
  expect(cartContentKey(withoutItems(CART, gone))).not.toBe(cartContentKey(CART));
});

it("builds the body of process-checkout with all fields, in euros, for the existing order", () => {
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
    checkoutBody(
      purchase,
      { items: [], totalCents: 23_940, plan: PRICING.instalments },
      { saveForLater: false },
    ),
  ).toEqual({
    email: "ana@example.com",
    phone: "+34600123123",
    total_amount: 239.4,
    payment_type: "full_payment",
    installments: { count: 3, every_days: 20 },
    items: [],
    promo_code: "BIENVENIDA10",
    quote: null,
    buy_again: false,
    by_transfer: false,
    gift: null,
    termsAccepted: true,
    privacyAccepted: true,
    adultConfirmed: true,
    withdrawalWaived: true,
    remindersAccepted: false,
    wallet_boxes: false,
    save_for_later: false,
    recovery_order_id: 12,
    token: "llave",
    order_key: null,
  });
});

it("uses the quote's price while the quote binds and the buyer has not given it up", () => {
  const bindingQuote = makeBindingQuote("3.firma", {
    subjectIds: [1],
    paymentType: "full_payment",
    priceCents: 18_000,
    validUntil: new Date("2026-12-05T10:00:00+01:00"),
    instalmentMinimumCents: 3000,
  });
  const quoted = { ...NEW_PURCHASE, quote: "3.firma" };
  expect(estimateOrder(PRICING, [COMPLETE], quoted, bindingQuote)).toMatchObject({
    discounts: [{ name: "Precio de tu presupuesto", amountCents: 2000 }],
    totalCents: 18_000,
    quoteNotice: null,
  });
  const other = estimateOrder(PRICING, CART, quoted, bindingQuote);
  expect(other.totalCents).toBe(26_600);
  expect(other.quoteNotice).toContain("exactamente sus asignaturas");
  expect(estimateOrder(PRICING, [COMPLETE], NEW_PURCHASE, bindingQuote)).toMatchObject({
    totalCents: 19_000,
    quoteNotice: null,
  });
});

it("recognises a binding price even if the friend code's discount was not applied", () => {
  const order = { lines: [], totalCents: 36_250, discounts: [] };
  const quoteDiscount = [{ name: "Precio de tu presupuesto", amountCents: 1500 }];
  const notice = "Tu presupuesto va sin el descuento de amigo.";
  expect(isAtQuotedPrice({ ...order, discounts: quoteDiscount, quoteNotice: notice })).toBe(true);
  expect(isAtQuotedPrice({ ...order, discounts: quoteDiscount, quoteNotice: null })).toBe(true);
  expect(isAtQuotedPrice({ ...order, quoteNotice: "Tu presupuesto caducó." })).toBe(false);
});

import { describe, expect, it } from "vitest";
import type { PaymentType } from "../../schemas/paymentType";
import { bindingPriceOf, cartPriceOptions } from "./bindingPrice";
import { makeBindingQuote } from "./bindingQuote";
import { type CartLine, toPricedItems } from "./cart";
import { PRICING, subject } from "./fixtures";

const complete = (id: number, priceCents?: number) => ({
  subject: subject(id, priceCents),
  lessonIds: [] as number[],
});
const TERMS = {
  subjectIds: [1, 2],
  paymentType: "full_payment" as const,
  priceCents: 36_500,
  validUntil: new Date("2026-12-05T10:00:00+01:00"),
  instalmentMinimumCents: 3000,
};
const QUOTE = makeBindingQuote("3.firma", TERMS);
const AS_QUOTED = [complete(1), complete(2)];

describe("the binding price of a quote", () => {
  it("is the quoted price for exactly the quoted subjects and payment type", () => {
    expect(bindingPriceOf(PRICING, QUOTE, AS_QUOTED, "full_payment")).toEqual({
      bindingCents: 36_500,
      notice: null,
    });
  });

  it.each<[string, CartLine[], PaymentType, RegExp]>([
    ["one subject less", [complete(1)], "full_payment", /exactamente sus asignaturas, completas/],
    [
      "one lesson more",
      [...AS_QUOTED, { ...complete(3), lessonIds: [31] }],
      "full_payment",
      /exacta/,
    ],
    ["instalments", AS_QUOTED, "installment", /es para el pago completo/],
    [
      "lower prices",
      [complete(1, 100), complete(2, 100)],
      "full_payment",
      /cuesta menos que en tu presup/,
    ],
  ])("is replaced by a notice when the cart has %s", (_, cart, paymentType, message) => {
    const bound = bindingPriceOf(PRICING, QUOTE, cart, paymentType);
    expect(bound.bindingCents).toBeNull();
    expect(bound.notice).toMatch(message);
    expect(bound.notice).toMatch(/Se aplican los precios de hoy\.$/);
  });

  it("is absent without a quote and while the cart is empty", () => {
    const nothing = { bindingCents: null, notice: null };
    expect(bindingPriceOf(PRICING, null, AS_QUOTED, "full_payment")).toEqual(nothing);
    expect(bindingPriceOf(PRICING, QUOTE, [], "full_payment")).toEqual(nothing);
  });
});

it("prices the cart with the quoted payment type while the quote binds, else with full payment", () => {
  const byInstalments = makeBindingQuote("3.firma", { ...TERMS, paymentType: "installment" });
  expect(cartPriceOptions(PRICING, byInstalments, AS_QUOTED)).toMatchObject({
    paymentType: "installment",
    bindingCents: 36_500,
  });
  expect(cartPriceOptions(PRICING, byInstalments, [complete(1)])).toMatchObject({
    paymentType: "full_payment",
    bindingCents: null,
  });
  expect(cartPriceOptions(PRICING, null, AS_QUOTED)).toMatchObject({
    paymentType: "full_payment",
    notice: null,
  });
});

it("keeps the least total for instalments of a quote that was sent before it was raised", () => {
  const byInstalments = makeBindingQuote("3.firma", { ...TERMS, paymentType: "installment" });
  expect(byInstalments.instalmentMinimumFor(toPricedItems(AS_QUOTED), 900_00)).toBe(3000);
  expect(byInstalments.instalmentMinimumFor(toPricedItems([complete(1)]), 900_00)).toBe(900_00);
  expect(QUOTE.instalmentMinimumFor(toPricedItems(AS_QUOTED), 900_00)).toBe(900_00);
});

it("says the last day and the payment type of the quoted price", () => {
  expect(QUOTE.conditions).toBe("hasta el 5 de diciembre de 2026, con pago completo");
});

import { describe, expect, it } from "vitest";
import { subject } from "../islands/payment/fixtures";
import { boundBy, cartTerms } from "./bound";
import type { CartLine } from "./cart";
import { makeOffer } from "./offer";
import type { PaymentType } from "./quote";

const whole = (id: number, priceCents?: number) => ({
  subject: subject(id, priceCents),
  lessonIds: [] as number[],
});
const TERMS = {
  subjectIds: [1, 2],
  paymentType: "full_payment" as const,
  priceCents: 36_500,
  validUntil: new Date("2026-12-05T10:00:00+01:00"),
};
const OFFER = makeOffer("3.firma", TERMS);
const AS_QUOTED = [whole(1), whole(2)];

describe("what a quote means for a cart", () => {
  it("is its price, for exactly its subjects and payment type", () => {
    expect(boundBy(OFFER, AS_QUOTED, "full_payment")).toEqual({
      bindingCents: 36_500,
      notice: null,
    });
  });

  it.each<[string, CartLine[], PaymentType, RegExp]>([
    ["a subject less", [whole(1)], "full_payment", /exactamente sus asignaturas, completas/],
    ["a lesson more", [...AS_QUOTED, { ...whole(3), lessonIds: [31] }], "full_payment", /exacta/],
    ["instalments", AS_QUOTED, "installment", /es para el pago completo/],
    ["lower prices", [whole(1, 100), whole(2, 100)], "full_payment", /es menor que tu presup/],
  ])("is a sentence with %s", (_, cart, paymentType, sentence) => {
    const bound = boundBy(OFFER, cart, paymentType);
    expect(bound.bindingCents).toBeNull();
    expect(bound.notice).toMatch(sentence);
    expect(bound.notice).toMatch(/Se aplican los precios de hoy\.$/);
  });

  it("is nothing without a quote, or while the cart is empty", () => {
    const nothing = { bindingCents: null, notice: null };
    expect(boundBy(null, AS_QUOTED, "full_payment")).toEqual(nothing);
    expect(boundBy(OFFER, [], "full_payment")).toEqual(nothing);
  });
});

it("sums the cart as it was quoted, and as paid at once when it is another", () => {
  const inParts = makeOffer("3.firma", { ...TERMS, paymentType: "installment" });
  expect(cartTerms(inParts, AS_QUOTED)).toMatchObject({
    paymentType: "installment",
    bindingCents: 36_500,
  });
  expect(cartTerms(inParts, [whole(1)])).toMatchObject({
    paymentType: "full_payment",
    bindingCents: null,
  });
  expect(cartTerms(null, AS_QUOTED)).toMatchObject({ paymentType: "full_payment", notice: null });
});

it("says until when and for which way to pay", () => {
  expect(OFFER.conditions).toBe("hasta el 5 de diciembre de 2026, con pago completo");
});

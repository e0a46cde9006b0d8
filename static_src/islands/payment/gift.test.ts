import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { PRICING } from "../../lib/pricing/fixtures";
import { checkoutBody } from "./checkoutApi";
import { type Gift, giftDay, giftErrors, lastDay, newGift } from "./gift";
import { NEW_PURCHASE, purchaseReducer } from "./state";

const GIFT: Gift = {
  sender: "Bruno",
  name: "",
  email: "leo@example.com",
  deliver_on: "2026-12-24",
  message: "¡Feliz día! Un abrazo.",
};

beforeEach(() => {
  vi.useFakeTimers();
  // In Madrid it is 22 November already.
  vi.setSystemTime(new Date("2026-11-21T23:30:00Z"));
});
afterEach(() => vi.useRealTimers());

const errors = (change: Partial<Gift>) => giftErrors({ ...GIFT, ...change }, "bruno@example.com");

describe("a gift", () => {
  it("is delivered on the day in Madrid unless the buyer chooses another one", () => {
    expect(newGift().deliver_on).toBe("2026-11-22");
    expect(lastDay()).toBe("2027-02-20");
    expect(giftDay("2026-12-24")).toBe("24 de diciembre de 2026");
  });

  it("needs a sender, another person's address, and a day of the next 90", () => {
    expect(errors({})).toEqual({});
    expect(Object.keys(errors({ sender: " " }))).toEqual(["gift.sender"]);
    expect(Object.keys(errors({ email: "" }))).toEqual(["gift.email"]);
    expect(Object.keys(errors({ email: "leo@localhost" }))).toEqual(["gift.email"]);
    expect(Object.keys(errors({ email: "Bruno@example.com" }))).toEqual(["gift.email"]);
    for (const deliver_on of ["", "2026-11-21", "2027-02-21"]) {
      expect(Object.keys(errors({ deliver_on }))).toEqual(["gift.deliver_on"]);
    }
  });

  it.each([
    "https://a",
    "www.a",
    "premio.es",
    "yo@premio",
    "Hola.Feliz",
    "premio。es",
    "premio．es",
    "yo＠premio",
  ])("takes no text that a mail program makes a link of: %s", (text) => {
    expect(Object.keys(errors({ message: text }))).toEqual(["gift.message"]);
    expect(Object.keys(errors({ name: text }))).toEqual(["gift.name"]);
  });

  it.each(["Nota: 9.5", "Ya... por fin", "S. L.", "¡Suerte!"])("takes the text %s", (text) => {
    expect(errors({ message: text })).toEqual({});
  });

  it("replaces the payment when it changes, and is sent with the order", () => {
    const paying = {
      ...NEW_PURCHASE,
      payment: { phase: "card", clientSecret: "x", paymentIntentId: "pi_1", dueCents: 1 } as const,
    };
    const purchase = purchaseReducer(paying, { type: "gift_edited", gift: GIFT });

    expect(purchase.payment.phase).toBe("none");
    const cart = { items: [], totalCents: 0, plan: PRICING.instalments };
    const options = { saveForLater: false };
    expect(checkoutBody(purchase, cart, options).gift).toEqual(GIFT);
    const recovered = checkoutBody({ ...purchase, gift: undefined }, cart, options);
    expect(JSON.stringify(recovered)).not.toContain("gift");
  });
});

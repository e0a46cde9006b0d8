import { describe, expect, it } from "vitest";
import { EMPTY_CONTACT } from "./contact";
import { answer, CARD_NEXT, PRICED } from "./fixtures";
import {
  isBusy,
  isOver,
  mayPay,
  NEW_PURCHASE,
  type Purchase,
  type PurchaseEvent,
  purchaseReducer,
} from "./state";

const ANA = {
  email: "ana@example.com",
  prefix: "34",
  phone: "600123123",
  termsAccepted: true,
  privacyAccepted: true,
};
const PROMO = {
  code: "BIENVENIDA10",
  promo: { kind: "PORCENTAJE" as const, value: 1000, isReferral: false },
};

const given = (...events: PurchaseEvent[]): Purchase =>
  events.reduce(purchaseReducer, NEW_PURCHASE);

const CARD_SHOWN: PurchaseEvent[] = [
  { type: "contact_edited", contact: ANA },
  { type: "contact_accepted" },
  { type: "box_ticked", box: "adult", ticked: true },
  { type: "box_ticked", box: "withdrawal", ticked: true },
  { type: "preparing" },
  { type: "answered", answer: answer(CARD_NEXT) },
];
const CONFIRMING: PurchaseEvent[] = [...CARD_SHOWN, { type: "confirming" }];
const CHARGED: PurchaseEvent[] = [...CONFIRMING, { type: "charged", paymentIntentId: "pi_1" }];

describe("the steps", () => {
  it("begin with the contact data, and lead on to the summary and back", () => {
    expect(NEW_PURCHASE.step).toBe("contact");
    expect(given({ type: "contact_accepted" }).step).toBe("summary");
    expect(given({ type: "contact_accepted" }, { type: "went_back" }).step).toBe("contact");
  });

  it("begin at the summary for a signed-in student, with the data and no box of the payment ticked", () => {
    const purchase = given({ type: "reset", student: { contact: ANA, complete: true } });
    expect(purchase.step).toBe("summary");
    expect(purchase.contact).toEqual(ANA);
    expect(purchase.boxes).toEqual({ adult: false, withdrawal: false, reminders: false });
  });

  it("begin at the contact data for a student without a phone", () => {
    const contact = { ...ANA, phone: "" };
    expect(given({ type: "reset", student: { contact, complete: false } })).toMatchObject({
      step: "contact",
      contact,
    });
  });
});

describe("closing", () => {
  it("resets everything that is seen, and keeps the order so that no second one is made", () => {
    const purchase = given(
      ...CARD_SHOWN,
      { type: "promo_applied", promo: PROMO },
      { type: "payment_type_chosen", paymentType: "installment" },
      { type: "reset", student: null },
    );
    expect(purchase).toEqual({
      ...NEW_PURCHASE,
      contact: EMPTY_CONTACT,
      order: { orderId: 12, token: "llave" },
      lastPaymentId: "pi_1",
    });
  });
});

it("begins another order once one has been charged", () => {
  const purchase = given(
    ...CHARGED,
    { type: "completion_failed" },
    { type: "reset", student: null },
  );
  expect(purchase).toEqual(NEW_PURCHASE);
});

describe("the client secret", () => {
  it("shows the card form, with the order, its token and the server's sums", () => {
    expect(given(...CARD_SHOWN)).toMatchObject({
      payment: {
        phase: "card",
        clientSecret: "pi_1_secret_2",
        paymentIntentId: "pi_1",
        dueCents: 19_000,
      },
      order: { orderId: 12, token: "llave" },
      priced: PRICED,
    });
  });

  it.each<[string, PurchaseEvent]>([
    ["contact data", { type: "contact_edited", contact: { ...ANA, phone: "600000000" } }],
    ["cart", { type: "cart_changed" }],
    ["payment type", { type: "payment_type_chosen", paymentType: "installment" }],
    ["promo code", { type: "promo_applied", promo: PROMO }],
    ["promo code (removed)", { type: "promo_removed" }],
  ])("is dropped when the %s changes, and the order is kept", (_, change) => {
    const purchase = given(...CARD_SHOWN, change);
    expect(purchase.payment).toEqual({ phase: "none" });
    expect(purchase.priced).toBeNull();
    expect(purchase.order).toEqual({ orderId: 12, token: "llave" });
  });

  it("stays when nothing of it changes: the same payment type, a box, a refused code", () => {
    const purchase = given(
      ...CARD_SHOWN,
      { type: "payment_type_chosen", paymentType: "full_payment" },
      { type: "box_ticked", box: "reminders", ticked: true },
      { type: "promo_refused", text: "Este código no existe." },
    );
    expect(purchase.payment.phase).toBe("card");
    expect(purchase.promoError).toBe("Este código no existe.");
  });

  it.each<[string, PurchaseEvent[]]>([
    ["while it is asked for", [{ type: "preparing" }]],
    ["while the card is confirmed", CONFIRMING],
    ["once the card is charged", CHARGED],
  ])("can't be pulled away %s", (_, events) => {
    const before = given(...events);
    const change: PurchaseEvent = { type: "payment_type_chosen", paymentType: "installment" };
    expect(purchaseReducer(before, change)).toBe(before);
    expect(purchaseReducer(before, { type: "cart_changed" })).toBe(before);
    expect(purchaseReducer(before, { type: "went_back" })).toBe(before);
  });
});

describe("paying", () => {
  it("needs both boxes, and nothing at work", () => {
    expect(mayPay(NEW_PURCHASE)).toBe(false);
    expect(mayPay(given({ type: "box_ticked", box: "adult", ticked: true }))).toBe(false);
    expect(mayPay(given({ type: "box_ticked", box: "withdrawal", ticked: true }))).toBe(false);
    expect(mayPay(given(...CARD_SHOWN))).toBe(true);
    expect(mayPay(given(...CONFIRMING))).toBe(false);
    expect(mayPay(given(...CHARGED))).toBe(false);
  });

  it("confirms only a card form that is there", () => {
    expect(given({ type: "confirming" }).payment).toEqual({ phase: "none" });
  });

  it("lets a refused card be tried again with the same secret", () => {
    const purchase = given(...CONFIRMING, {
      type: "card_refused",
      text: "Tu banco ha rechazado la tarjeta.",
      final: false,
    });
    expect(purchase.payment).toMatchObject({ phase: "card", clientSecret: "pi_1_secret_2" });
    expect(purchase.notice).toEqual({ kind: "problem", text: "Tu banco ha rechazado la tarjeta." });
  });

  it("asks for a new secret where the payment can't be tried again", () => {
    const purchase = given(...CONFIRMING, { type: "card_refused", text: "No.", final: true });
    expect(purchase.payment).toEqual({ phase: "none" });
    expect(purchase.order).toEqual({ orderId: 12, token: "llave" });
  });

  it("ends in the post-payment view where the server could not be told", () => {
    const purchase = given(...CHARGED, { type: "completion_failed" });
    expect(purchase.payment).toEqual({ phase: "unrecorded", paymentIntentId: "pi_1" });
    expect(isOver(purchase)).toBe(true);
  });

  it("waits for the bank where it has not confirmed yet", () => {
    const purchase = given(...CONFIRMING, { type: "bank_is_confirming", paymentIntentId: "pi_1" });
    expect(purchase.payment).toEqual({ phase: "processing", paymentIntentId: "pi_1" });
    expect(isOver(purchase)).toBe(true);
  });

  it.each([
    { kind: "hosted", url: "https://checkout.example/1", sessionId: "cs_1" } as const,
    { kind: "completed", redirect: "/success?payment_intent_id=free_1" } as const,
  ])("stays at work while the browser leaves for $kind", (next) => {
    expect(isBusy(given({ type: "preparing" }, { type: "answered", answer: answer(next) }))).toBe(
      true,
    );
  });

  it("can be pressed again by who comes back from Stripe's own page", () => {
    const away = answer({ kind: "hosted", url: "https://checkout.example/1", sessionId: "cs_1" });
    const back = given(
      { type: "promo_applied", promo: PROMO },
      { type: "preparing" },
      { type: "answered", answer: away },
      { type: "came_back" },
    );
    expect(back.payment).toEqual({ phase: "none" });
    expect(back.order).toEqual({ orderId: away.orderId, token: away.token });
    expect([back.promo, back.lastPaymentId]).toEqual([PROMO, "cs_1"]);
  });

  it("can be pressed again after an answer with neither secret nor address", () => {
    const purchase = given(
      { type: "preparing" },
      { type: "answered", answer: answer({ kind: "none" }) },
    );
    expect(purchase.payment).toEqual({ phase: "none" });
  });
});

describe("saving for later", () => {
  it("ends with the cart saved and no payment", () => {
    const saving = given({ type: "saving" });
    expect(isBusy(saving)).toBe(true);
    const saved = purchaseReducer(saving, { type: "answered", answer: answer({ kind: "saved" }) });
    expect(saved.payment).toEqual({ phase: "saved" });
    expect(isOver(saved)).toBe(true);
  });
});

describe("a refusal", () => {
  const refused = (refusal: Extract<PurchaseEvent, { type: "refused" }>["refusal"]) =>
    given(...CARD_SHOWN.slice(0, 5), { type: "refused", refusal });

  it("price_changed shows the server's sums and asks again", () => {
    const purchase = refused({ kind: "price_changed", priced: PRICED });
    expect(purchase).toMatchObject({
      payment: { phase: "none" },
      priced: PRICED,
      notice: { kind: "price_changed" },
    });
    expect(mayPay(purchase)).toBe(true);
  });

  it("unavailable names what can't be bought", () => {
    const items = [{ subjectId: 1, lessonId: 11, name: "PEC 11" }];
    expect(refused({ kind: "unavailable", items }).notice).toEqual({ kind: "unavailable", items });
  });

  it("promo_refused takes the code off and says why at its field", () => {
    const purchase = given(
      { type: "promo_applied", promo: PROMO },
      { type: "preparing" },
      { type: "refused", refusal: { kind: "promo_refused", text: "Este código está agotado." } },
    );
    expect(purchase).toMatchObject({ promo: null, promoError: "Este código está agotado." });
  });

  it("instalments_refused falls back to the full payment and says why", () => {
    const purchase = given(
      { type: "payment_type_chosen", paymentType: "installment" },
      { type: "preparing" },
      { type: "refused", refusal: { kind: "instalments_refused", text: "No se puede." } },
    );
    expect(purchase).toMatchObject({
      paymentType: "full_payment",
      payment: { phase: "none" },
      notice: { kind: "problem", text: "No se puede." },
    });
  });

  it("of a contact field goes back to it", () => {
    const errors = { email: "Por favor, introduce un email válido" };
    expect(refused({ kind: "contact", errors })).toMatchObject({
      step: "contact",
      contactErrors: errors,
    });
  });

  it("of an order that is gone forgets it, so that the next press makes another", () => {
    const purchase = given(...CARD_SHOWN, {
      type: "refused",
      refusal: { kind: "order_gone", title: "Error en el pago", text: "Orden no encontrada" },
    });
    expect(purchase).toMatchObject({
      order: null,
      lastPaymentId: null,
      payment: { phase: "none" },
    });
  });

  it("of a card provider that is away keeps the order for the next press", () => {
    const order = { orderId: 12, token: "secreto" };
    const refusal = { kind: "not_prepared", order, title: "Error", text: "No se pudo." } as const;
    expect(refused(refusal)).toMatchObject({ order, payment: { phase: "none" } });
    expect(refused({ ...refusal, order: null }).notice).toEqual({
      kind: "problem",
      text: "No se pudo.",
    });
  });

  it("of any other kind says so and can be pressed again", () => {
    const purchase = refused({ kind: "problem", title: "Error", text: "No se pudo." });
    expect(purchase.notice).toEqual({ kind: "problem", text: "No se pudo." });
    expect(mayPay(purchase)).toBe(true);
  });

  it("for what is owned already names it, and goes on only when it is wanted again", () => {
    const items = [{ subjectId: 7, lessonId: null, name: "Microeconomía" }];
    const purchase = refused({ kind: "already_bought", items });
    expect(purchase.notice).toEqual({ kind: "already_bought", items });
    expect(purchase.buyAgain).toBe(false);
    const again = purchaseReducer(purchase, { type: "wanted_again" });
    expect(again).toMatchObject({ buyAgain: true, notice: null });
    // Another cart is another question.
    expect(purchaseReducer(again, { type: "cart_changed" }).buyAgain).toBe(false);
  });
});

describe("a quote", () => {
  const quoted = { key: "3.firma", paymentType: "installment" as const };

  it("comes with each opening of the dialog, and with its payment type", () => {
    const purchase = given({ type: "reset", student: null, quoted });
    expect(purchase).toMatchObject({ quote: "3.firma", paymentType: "installment" });
    expect(purchaseReducer(purchase, { type: "reset", student: null })).toMatchObject({
      quote: null,
      paymentType: "full_payment",
    });
  });

  it("can be given up, which drops the payment that was for its price", () => {
    const purchase = given({ type: "reset", student: null, quoted }, ...CARD_SHOWN, {
      type: "quote_given_up",
    });
    expect(purchase).toMatchObject({ quote: null, payment: { phase: "none" }, priced: null });
  });
});

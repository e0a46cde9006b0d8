import { describe, expect, it } from "vitest";
import { EMPTY_CONTACT } from "./contact";
import { CARD_NEXT, checkoutResponse, PRICED } from "./fixtures";
import {
  canPay,
  isBusy,
  isFinished,
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
  promo: { kind: "PORCENTAJE" as const, value: 1000, isFriendCode: false },
};

const given = (...events: PurchaseEvent[]): Purchase =>
  events.reduce(purchaseReducer, NEW_PURCHASE);

const CARD_SHOWN: PurchaseEvent[] = [
  { type: "contact_edited", contact: ANA },
  { type: "contact_accepted" },
  { type: "box_ticked", box: "adult", ticked: true },
  { type: "box_ticked", box: "withdrawal", ticked: true },
  { type: "preparing" },
  { type: "responded", response: checkoutResponse(CARD_NEXT) },
];
const CONFIRMING: PurchaseEvent[] = [...CARD_SHOWN, { type: "confirming" }];
const WALLET_PAYS: PurchaseEvent[] = [
  { type: "wallet_contact", contact: ANA },
  { type: "preparing" },
  { type: "responded", response: checkoutResponse(CARD_NEXT), byWallet: true },
];
const CHARGED: PurchaseEvent[] = [...CONFIRMING, { type: "charged", paymentIntentId: "pi_1" }];

describe("the steps", () => {
  it("start with the contact data, continue to the summary and go back", () => {
    expect(NEW_PURCHASE.step).toBe("contact");
    expect(given({ type: "contact_accepted" }).step).toBe("summary");
    expect(given({ type: "contact_accepted" }, { type: "went_back" }).step).toBe("contact");
  });

  it("start at the summary for a signed-in student, with the contact data and no checkbox ticked", () => {
    const purchase = given({ type: "reset", student: { contact: ANA, complete: true } });
    expect(purchase.step).toBe("summary");
    expect(purchase.contact).toEqual(ANA);
    expect(purchase.boxes).toEqual({ adult: false, withdrawal: false, reminders: false });
  });

  it("start with the contact data for a student without a phone", () => {
    const contact = { ...ANA, phone: "" };
    expect(given({ type: "reset", student: { contact, complete: false } })).toMatchObject({
      step: "contact",
      contact,
    });
  });
});

describe("closing", () => {
  it("resets the form but keeps the order, so that no second order is created", () => {
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

it("starts another order after one has been charged", () => {
  const purchase = given(
    ...CHARGED,
    { type: "completion_failed" },
    { type: "reset", student: null },
  );
  expect(purchase).toEqual(NEW_PURCHASE);
});

describe("the client secret", () => {
  it("leads to the card form, with the order, its token and the server's prices", () => {
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
  ])("is dropped when the %s changes, but the order is kept", (_, change) => {
    const purchase = given(...CARD_SHOWN, change);
    expect(purchase.payment).toEqual({ phase: "none" });
    expect(purchase.priced).toBeNull();
    expect(purchase.order).toEqual({ orderId: 12, token: "llave" });
  });

  it("is kept when the same payment type is chosen, a checkbox is ticked or a code is refused", () => {
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
    ["while process-checkout is running", [{ type: "preparing" }]],
    ["while the card is confirmed", CONFIRMING],
    ["once the card is charged", CHARGED],
  ])("ignores changes to the purchase %s", (_, events) => {
    const before = given(...events);
    const change: PurchaseEvent = { type: "payment_type_chosen", paymentType: "installment" };
    expect(purchaseReducer(before, change)).toBe(before);
    expect(purchaseReducer(before, { type: "cart_changed" })).toBe(before);
    expect(purchaseReducer(before, { type: "went_back" })).toBe(before);
  });
});

describe("paying", () => {
  it("requires both checkboxes and no running payment", () => {
    expect(canPay(NEW_PURCHASE)).toBe(false);
    expect(canPay(given({ type: "box_ticked", box: "adult", ticked: true }))).toBe(false);
    expect(canPay(given({ type: "box_ticked", box: "withdrawal", ticked: true }))).toBe(false);
    expect(canPay(given(...CARD_SHOWN))).toBe(true);
    expect(canPay(given(...CONFIRMING))).toBe(false);
    expect(canPay(given(...CHARGED))).toBe(false);
  });

  it("is not confirmed while no card form is shown", () => {
    expect(given({ type: "confirming" }).payment).toEqual({ phase: "none" });
  });

  it("can be retried with the same client secret after a declined card", () => {
    const purchase = given(...CONFIRMING, {
      type: "card_declined",
      text: "Tu banco ha rechazado la tarjeta.",
      final: false,
    });
    expect(purchase.payment).toMatchObject({ phase: "card", clientSecret: "pi_1_secret_2" });
    expect(purchase.notice).toEqual({ kind: "problem", text: "Tu banco ha rechazado la tarjeta." });
  });

  it("is busy and shows no card form while a wallet pays, from step 1", () => {
    const purchase = given(...WALLET_PAYS);
    expect(purchase).toMatchObject({ step: "contact", contact: ANA, payment: { phase: "wallet" } });
    expect(isBusy(purchase)).toBe(true);
  });

  it("goes on in step 2 with the same client secret after a declined wallet", () => {
    const purchase = given(...WALLET_PAYS, { type: "card_declined", text: "No.", final: false });
    expect(purchase.step).toBe("summary");
    expect(purchase.payment).toMatchObject({ phase: "card", clientSecret: "pi_1_secret_2" });
    expect(purchase.boxes).toEqual(NEW_PURCHASE.boxes);
  });

  it("shows in step 2 why the server refused a wallet's payment from step 1", () => {
    const refusal = { kind: "price_changed" as const, priced: PRICED };
    const purchase = given(
      { type: "wallet_contact", contact: ANA },
      { type: "preparing" },
      { type: "refused", refusal },
    );
    expect(purchase).toMatchObject({ step: "summary", notice: { kind: "price_changed" } });
  });

  it("needs a new client secret when the payment can't be retried", () => {
    const purchase = given(...CONFIRMING, { type: "card_declined", text: "No.", final: true });
    expect(purchase.payment).toEqual({ phase: "none" });
    expect(purchase.order).toEqual({ orderId: 12, token: "llave" });
  });

  it("ends in the post-payment view when complete-payment fails", () => {
    const purchase = given(...CHARGED, { type: "completion_failed" });
    expect(purchase.payment).toEqual({ phase: "unrecorded", paymentIntentId: "pi_1" });
    expect(isFinished(purchase)).toBe(true);
  });

  it("waits for the bank when the bank has not confirmed the payment yet", () => {
    const purchase = given(...CONFIRMING, { type: "bank_is_confirming", paymentIntentId: "pi_1" });
    expect(purchase.payment).toEqual({ phase: "processing", paymentIntentId: "pi_1" });
    expect(isFinished(purchase)).toBe(true);
  });

  it("offers to pay the same order again when the bank has declined the payment", () => {
    const purchase = given(
      ...CONFIRMING,
      { type: "bank_is_confirming", paymentIntentId: "pi_1" },
      { type: "bank_declined", text: "Rechazado." },
    );
    expect(purchase).toMatchObject({
      payment: { phase: "none" },
      notice: { kind: "problem", text: "Rechazado." },
      order: { orderId: 12 },
    });
    expect(isFinished(purchase)).toBe(false);
  });

  it.each([
    { kind: "hosted", url: "https://checkout.example/1", sessionId: "cs_1" } as const,
    { kind: "completed", redirect: "/success?payment_intent_id=free_1" } as const,
  ])("stays busy while the browser leaves for the page of a $kind checkout", (next) => {
    expect(
      isBusy(given({ type: "preparing" }, { type: "responded", response: checkoutResponse(next) })),
    ).toBe(true);
  });

  it("can be started again after returning from Stripe's hosted page", () => {
    const redirect = checkoutResponse({
      kind: "hosted",
      url: "https://checkout.example/1",
      sessionId: "cs_1",
    });
    const back = given(
      { type: "promo_applied", promo: PROMO },
      { type: "preparing" },
      { type: "responded", response: redirect },
      { type: "returned" },
    );
    expect(back.payment).toEqual({ phase: "none" });
    expect(back.order).toEqual({ orderId: redirect.orderId, token: redirect.token });
    expect([back.promo, back.lastPaymentId]).toEqual([PROMO, "cs_1"]);
  });

  it("can be started again after a response with neither client secret nor address", () => {
    const purchase = given(
      { type: "preparing" },
      { type: "responded", response: checkoutResponse({ kind: "none" }) },
    );
    expect(purchase.payment).toEqual({ phase: "none" });
  });
});

describe("saving for later", () => {
  it("saves the cart and makes no payment", () => {
    const saving = given({ type: "saving" });
    expect(isBusy(saving)).toBe(true);
    const saved = purchaseReducer(saving, {
      type: "responded",
      response: checkoutResponse({ kind: "saved" }),
    });
    expect(saved.payment).toEqual({ phase: "saved" });
    expect(isFinished(saved)).toBe(true);
  });
});

describe("a refusal", () => {
  const refused = (refusal: Extract<PurchaseEvent, { type: "refused" }>["refusal"]) =>
    given(...CARD_SHOWN.slice(0, 5), { type: "refused", refusal });

  it("price_changed shows the server's prices, and the buyer pays once they are accepted", () => {
    const purchase = refused({ kind: "price_changed", priced: PRICED });
    expect(purchase).toMatchObject({
      payment: { phase: "none" },
      priced: PRICED,
      notice: { kind: "price_changed" },
    });
    expect(canPay(purchase)).toBe(false);
    const accepted = purchaseReducer(purchase, { type: "price_accepted" });
    expect(accepted).toMatchObject({ priced: PRICED, notice: null });
    expect(canPay(accepted)).toBe(true);
  });

  it("unavailable lists the items that can't be bought", () => {
    const items = [{ subjectId: 1, lessonId: 11, name: "PEC 11" }];
    expect(refused({ kind: "unavailable", items }).notice).toEqual({ kind: "unavailable", items });
  });

  it("promo_refused removes the code and shows the reason at its field", () => {
    const purchase = given(
      { type: "promo_applied", promo: PROMO },
      { type: "preparing" },
      { type: "refused", refusal: { kind: "promo_refused", text: "Este código está agotado." } },
    );
    expect(purchase).toMatchObject({ promo: null, promoError: "Este código está agotado." });
  });

  it("instalments_refused switches to full payment and shows the reason", () => {
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

  it("of a contact field returns to the contact step", () => {
    const errors = { email: "Por favor, introduce un email válido" };
    expect(refused({ kind: "contact", errors })).toMatchObject({
      step: "contact",
      contactErrors: errors,
    });
  });

  it("of an expired order drops the order, so that the next attempt creates another", () => {
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

  it("because Stripe is unavailable keeps the order for the next attempt", () => {
    const order = { orderId: 12, token: "secreto" };
    const refusal = { kind: "not_prepared", order, title: "Error", text: "No se pudo." } as const;
    expect(refused(refusal)).toMatchObject({ order, payment: { phase: "none" } });
    expect(refused({ ...refusal, order: null }).notice).toEqual({
      kind: "problem",
      text: "No se pudo.",
    });
  });

  it("of any other kind shows its message and lets the buyer pay again", () => {
    const purchase = refused({ kind: "problem", title: "Error", text: "No se pudo." });
    expect(purchase.notice).toEqual({ kind: "problem", text: "No se pudo." });
    expect(canPay(purchase)).toBe(true);
  });

  it("already_bought lists the items, and the purchase continues only when the buyer confirms", () => {
    const items = [{ subjectId: 7, lessonId: null, name: "Microeconomía" }];
    const purchase = refused({ kind: "already_bought", items });
    expect(purchase.notice).toEqual({ kind: "already_bought", items });
    expect(purchase.buyAgain).toBe(false);
    const again = purchaseReducer(purchase, { type: "buy_again" });
    expect(again).toMatchObject({ buyAgain: true, notice: null });
    // A changed cart needs a new confirmation.
    expect(purchaseReducer(again, { type: "cart_changed" }).buyAgain).toBe(false);
  });
});

describe("a quote", () => {
  const quoted = { key: "3.firma", paymentType: "installment" as const };

  it("is set with its payment type each time the dialog opens", () => {
    const purchase = given({ type: "reset", student: null, quoted });
    expect(purchase).toMatchObject({ quote: "3.firma", paymentType: "installment" });
    expect(purchaseReducer(purchase, { type: "reset", student: null })).toMatchObject({
      quote: null,
      paymentType: "full_payment",
    });
  });

  it("can be given up, which drops the payment for its price", () => {
    const purchase = given({ type: "reset", student: null, quoted }, ...CARD_SHOWN, {
      type: "quote_given_up",
    });
    expect(purchase).toMatchObject({ quote: null, payment: { phase: "none" }, priced: null });
  });
});

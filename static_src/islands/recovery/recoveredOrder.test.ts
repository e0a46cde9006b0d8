import { describe, expect, it } from "vitest";
import { ApiError } from "../../lib/http/api";
import { RecoveredOrder } from "../../schemas/recovery";
import { checkoutBody } from "../payment/checkoutApi";
import {
  changeMessage,
  checkoutItemsOf,
  linkProblem,
  problemOf,
  purchaseOf,
  wishesOf,
} from "./recoveredOrder";

const item = (id: number, subject_id: number, lesson_id: number | null, price: number) => ({
  id,
  lesson_id,
  subject_id,
  price,
  lesson: lesson_id && { id: lesson_id, title: `PEC ${lesson_id}`, subject_id },
  subject: {
    id: subject_id,
    name: `Asignatura ${subject_id}`,
    degree: { name: "Economía", university: { name: "Faro" } },
  },
});
const ORDER = RecoveredOrder.parse({
  id: 12,
  total_amount: 270,
  payment_type: "installment",
  created_at: "2026-11-21T10:00:00+01:00",
  promo_code: "BIENVENIDA10",
  quote: "3.firma",
  student: { email: "ana@example.com", first_name: "", last_name: "", phone: "+34600123123" },
  items: [item(1, 7, null, 192), item(2, 9, 31, 55), item(3, 9, 32, 55)],
  discounts: [],
  saved_total: 280,
  totals: { full_payment: 256.5, installment: 270 },
  installment_minimum: 30,
  changes: [],
  bank: null,
  renewal: false,
});

describe("a recovery link", () => {
  it.each([
    [{ order: "", token: "" }, "Enlace de recuperación inválido"],
    [{ order: "12", token: "" }, "Enlace de recuperación inválido"],
    [{ order: "", token: "llave" }, "Enlace de recuperación inválido"],
    [{ order: "doce", token: "llave" }, "ID de orden inválido"],
    [{ order: "1.5", token: "llave" }, "ID de orden inválido"],
    [{ order: "-3", token: "llave" }, "ID de orden inválido"],
    [{ order: "12", token: "llave" }, null],
  ])("%j has the problem: %s", (link, problem) => {
    expect(linkProblem(link)).toBe(problem);
  });

  it("has the server's message for a rejected link, and one message for every failed call", () => {
    const sentence = "Orden no encontrada o enlace inválido";
    expect(problemOf(new ApiError(404, "not_found", sentence))).toBe(sentence);
    expect(problemOf(new ApiError(500, "unexpected", "?"))).toBe(sentence);
    expect(problemOf(new ApiError(0, "network", "Sin conexión."))).toBe(sentence);
  });
});

it("sends the items of the saved order: complete subjects and single lessons", () => {
  expect(checkoutItemsOf(ORDER)).toEqual([
    { subject_id: 7, lesson_ids: [], subject_price: 192, lesson_prices: [] },
    { subject_id: 9, lesson_ids: [31, 32], subject_price: null, lesson_prices: [55, 55] },
  ]);
});

it("asks for the contact data that an order which others may have opened does not show", () => {
  const student = { email: "", phone: "" };
  const purchase = purchaseOf({ ...ORDER, student }, { order: "12", token: "llave" });
  expect(purchase).toMatchObject({ step: "contact", contact: { email: "", phone: "" } });
});

it("pays with the saved payment type, code and token, and with no checkbox ticked", () => {
  const purchase = purchaseOf(ORDER, { order: "12", token: "llave" });
  expect(purchase).toMatchObject({
    step: "summary",
    paymentType: "installment",
    promo: { code: "BIENVENIDA10" },
    order: { orderId: 12, token: "llave" },
    contact: { email: "ana@example.com", prefix: "34", phone: "600123123", termsAccepted: false },
    boxes: { adult: false, withdrawal: false, reminders: false },
  });
});

it("says which gift the page shows, so that the server refuses one that was changed meanwhile", () => {
  const link = { order: "12", token: "llave" };
  const gift = { email: "leo@example.com", deliverOn: "2026-12-24" };
  const cart = {
    items: [],
    totalCents: 0,
    plan: { count: 3, everyDays: 20, minimumTotalCents: 3000 },
  };
  for (const [order, email] of [
    [ORDER, ""],
    [{ ...ORDER, gift }, "leo@example.com"],
  ] as const) {
    const body = checkoutBody(purchaseOf(order, link), cart, { saveForLater: false });
    expect(body.shown_gift_email).toBe(email);
    expect(body.gift).toBeUndefined();
  }
});

it.each([
  [
    { kind: "price", name: "Micro", before: 20_200, after: 19_200 } as const,
    "Micro: costaba 202,00\u00a0€ y ahora cuesta 192,00\u00a0€.",
  ],
  [{ kind: "expired", name: "PEC 3" } as const, "PEC 3: ya no está disponible y no se incluye."],
  [
    { kind: "promo", name: "X", reason: "Ha caducado." } as const,
    "El código X ya no se aplica. Ha caducado.",
  ],
  [
    { kind: "discount", name: "Descuento por volumen", before: 1500, after: 0 } as const,
    "Descuento por volumen: ya no se aplica.",
  ],
  [
    { kind: "discount", name: "Descuento por volumen", before: 1500, after: 4500 } as const,
    "Descuento por volumen: era de 15,00\u00a0€ y ahora es de 45,00\u00a0€.",
  ],
  [
    { kind: "discount", name: "Pago completo (5 %)", before: 0, after: 950 } as const,
    "Pago completo (5 %): ahora descuenta 9,50\u00a0€.",
  ],
  [
    { kind: "instalments", name: "Pago a plazos", reason: "El total es menor." } as const,
    "Ya no se puede pagar a plazos. El total es menor.",
  ],
])("describes a change since the order was saved: %j", (change, sentence) => {
  expect(changeMessage(change)).toBe(sentence);
});

describe("the buyer's wishes for a saved order", () => {
  const saved = purchaseOf(ORDER, { order: "12", token: "llave" });

  it.each([
    [{}, [], "payment_type=installment&promo_code=BIENVENIDA10"],
    [
      { paymentType: "full_payment" as const, promo: null },
      [],
      "payment_type=full_payment&promo_code=",
    ],
    [
      { quote: null },
      [2, 3],
      "payment_type=installment&promo_code=BIENVENIDA10&without=2&without=3&without_quote=true",
    ],
  ])("%j without %j are asked for as %s", (changes, without, query) => {
    expect(wishesOf({ ...saved, ...changes }, without)).toBe(query);
  });
});

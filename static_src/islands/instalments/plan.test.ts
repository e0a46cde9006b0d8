import { expect, it } from "vitest";
import { Plan } from "../../schemas/instalments";
import { invitation, loadPlan, needsAttention, payLabels, rowSentence } from "./plan";

const row = {
  number: 2,
  amount: 33.33,
  due_on: "2026-12-11",
  charge_on: "2026-12-11" as string | null,
  paid_at: null as string | null,
  state: "due",
};
const answer = {
  order_id: 7,
  status: "paying",
  items: ["Microeconomía"],
  instalments: [
    { ...row, number: 1, state: "paid", paid_at: "2026-11-21T10:00:00+01:00", charge_on: null },
    row,
    { ...row, number: 3, due_on: "2026-12-31", charge_on: "2026-12-31" },
  ],
  total_amount: 100,
  next_amount: 33.33,
  rest_amount: 66.66,
  card: "Visa terminada en 4242",
  card_works: true,
  paused: false,
  in_progress: false,
};
const plan = Plan.parse(answer);
const second = (changes: object) =>
  Plan.parse({ ...answer, instalments: [{ ...row, ...changes }] }).rows[0] as never;

it("says of each instalment what happened or will", () => {
  expect(plan.rows.map((each) => rowSentence(each, true))).toEqual([
    "Pagado el 21 de noviembre de 2026",
    "Se cobrará el 11 de diciembre de 2026",
    "Se cobrará el 31 de diciembre de 2026",
  ]);
  expect(rowSentence(second({}), false)).toBe(
    "Vence el 11 de diciembre de 2026: págalo tú o cambia de tarjeta",
  );
  expect(rowSentence(second({ state: "refused", charge_on: "2026-12-14" }), true)).toBe(
    "No se pudo cobrar. Lo intentaremos otra vez el 14 de diciembre de 2026",
  );
  expect(rowSentence(second({ state: "refused", charge_on: "2026-12-14" }), false)).toBe(
    "No se pudo cobrar: págalo tú o cambia de tarjeta",
  );
  expect(rowSentence(second({ state: "overdue", charge_on: null }), true)).toBe(
    "Sin pagar: venció el 11 de diciembre de 2026",
  );
  expect(rowSentence(second({ state: "canceled", charge_on: null }), true)).toBe("No se cobrará");
});

it("names no day on which nothing will be charged", () => {
  expect(rowSentence(second({ charge_on: null }), true)).toBe("Vence el 11 de diciembre de 2026");
});

it("tells the student what to do, and that there is nothing to do only where that is so", () => {
  const inState = (changes: object, ...states: string[]) =>
    Plan.parse({ ...answer, ...changes, instalments: states.map((state) => ({ ...row, state })) });
  const told = (changes: object, ...states: string[]) => {
    const read = inState(changes, ...states);
    return [needsAttention(read), invitation(read).split(/[.:;]/)[0]];
  };

  expect(told({}, "paid", "due")).toEqual([false, "Cobramos cada plazo en su fecha"]);
  expect(told({}, "refused", "due")).toEqual([true, "No hemos podido cobrar un plazo"]);
  expect(told({ card_works: false }, "due")).toEqual([
    true,
    "Tu tarjeta ya no admite el cobro automático",
  ]);
  expect(told({ status: "overdue" }, "overdue", "due")).toEqual([
    true,
    "Tienes un plazo vencido y tu acceso está en pausa",
  ]);
  expect(told({ status: "overdue" }, "overdue", "overdue")).toEqual([
    true,
    "Tienes 2 plazos vencidos y tu acceso está en pausa",
  ]);
  expect(told({ paused: true }, "due")).toEqual([false, "Has reclamado un pago a tu banco"]);
});

it("offers the next one and all that is left, and the last one alone", () => {
  expect(payLabels(plan).map(({ label }) => label.replace(/\s/g, " "))).toEqual([
    "Pagar el plazo 2: 33,33 €",
    "Pagar todo lo que queda: 66,66 €",
  ]);
  expect(payLabels({ ...plan, restCents: 3333 })).toHaveLength(1);
  expect(payLabels({ ...plan, nextCents: 0, restCents: 0 })).toEqual([]);
});

it("asks the server for nothing with a link that can't be right", async () => {
  for (const link of [
    { order: "", token: "x" },
    { order: "doce", token: "x" },
    { order: "12", token: "" },
  ]) {
    await expect(loadPlan(link)).rejects.toThrow("El enlace no es válido o ha caducado.");
  }
});

import { expect, it } from "vitest";
import { InstalmentPlan } from "../../schemas/instalments";
import {
  instalmentMessage,
  loadPlan,
  needsAttention,
  payLabels,
  planMessage,
  savedCardMessage,
} from "./instalmentPlan";

const instalment = {
  number: 2,
  amount: 33.33,
  due_on: "2026-12-11",
  charge_on: "2026-12-11" as string | null,
  paid_at: null as string | null,
  state: "due",
};
const response = {
  order_id: 7,
  status: "paying",
  items: ["Microeconomía"],
  instalments: [
    {
      ...instalment,
      number: 1,
      state: "paid",
      paid_at: "2026-11-21T10:00:00+01:00",
      charge_on: null,
    },
    instalment,
    { ...instalment, number: 3, due_on: "2026-12-31", charge_on: "2026-12-31" },
  ],
  total_amount: 100,
  next_amount: 33.33,
  rest_amount: 66.66,
  card: "Visa terminada en 4242",
  card_works: true,
  card_pays: true,
  paused: false,
  in_progress: false,
};
const plan = InstalmentPlan.parse(response);
const second = (changes: object) =>
  InstalmentPlan.parse({ ...response, instalments: [{ ...instalment, ...changes }] })
    .instalments[0] as never;

it("has a message for each state of an instalment", () => {
  expect(plan.instalments.map((each) => instalmentMessage(each, true))).toEqual([
    "Pagado el 21 de noviembre de 2026",
    "Se cobrará el 11 de diciembre de 2026",
    "Se cobrará el 31 de diciembre de 2026",
  ]);
  expect(instalmentMessage(second({}), false)).toBe(
    "Vence el 11 de diciembre de 2026: págalo tú o cambia de tarjeta",
  );
  expect(instalmentMessage(second({ state: "refused", charge_on: "2026-12-14" }), true)).toBe(
    "No se pudo cobrar. Lo intentaremos otra vez el 14 de diciembre de 2026",
  );
  expect(instalmentMessage(second({ state: "refused", charge_on: "2026-12-14" }), false)).toBe(
    "No se pudo cobrar: págalo tú o cambia de tarjeta",
  );
  expect(instalmentMessage(second({ state: "overdue", charge_on: null }), true)).toBe(
    "Sin pagar: venció el 11 de diciembre de 2026",
  );
  expect(instalmentMessage(second({ state: "canceled", charge_on: null }), true)).toBe(
    "No se cobrará",
  );
});

it("does not announce a charge on a day without one", () => {
  expect(instalmentMessage(second({ charge_on: null }), true)).toBe(
    "Vence el 11 de diciembre de 2026",
  );
});

it("tells the student what to do in each state of the plan", () => {
  const inState = (changes: object, ...states: string[]) =>
    InstalmentPlan.parse({
      ...response,
      ...changes,
      instalments: states.map((state) => ({ ...instalment, state })),
    });
  const attentionAndMessage = (changes: object, ...states: string[]) => {
    const current = inState(changes, ...states);
    return [needsAttention(current), planMessage(current).split(/[.:;]/)[0]];
  };

  expect(attentionAndMessage({}, "paid", "due")).toEqual([
    false,
    "Cobramos cada plazo en su fecha",
  ]);
  expect(attentionAndMessage({}, "refused", "due")).toEqual([
    true,
    "No hemos podido cobrar un plazo",
  ]);
  expect(attentionAndMessage({ card_works: false }, "due")).toEqual([
    true,
    "Tu banco pide que confirmes tú el pago",
  ]);
  expect(attentionAndMessage({ card_works: false, card_pays: false }, "due")).toEqual([
    true,
    "Tu tarjeta ya no admite el cobro automático",
  ]);
  expect(attentionAndMessage({ status: "overdue" }, "overdue", "due")).toEqual([
    true,
    "Tienes un plazo vencido y tu acceso está en pausa",
  ]);
  expect(attentionAndMessage({ status: "overdue" }, "overdue", "overdue")).toEqual([
    true,
    "Tienes 2 plazos vencidos y tu acceso está en pausa",
  ]);
  expect(attentionAndMessage({ paused: true }, "due")).toEqual([
    false,
    "Has reclamado un pago a tu banco",
  ]);
});

it("says that the bank confirms a saved card that cannot be charged without the student", () => {
  expect(savedCardMessage(plan)).toBe("Con un solo toque pagas con tu Visa terminada en 4242.");
  expect(savedCardMessage({ ...plan, cardWorks: false })).toBe(
    "Pagas con tu Visa terminada en 4242 y lo confirmas con tu banco.",
  );
});

it("offers to pay the next instalment or all of them, and has one button for the last", () => {
  expect(payLabels(plan).map(({ label }) => label.replace(/\s/g, " "))).toEqual([
    "Pagar el plazo 2: 33,33 €",
    "Pagar todo lo que queda: 66,66 €",
  ]);
  expect(payLabels({ ...plan, restCents: 3333 })).toHaveLength(1);
  expect(payLabels({ ...plan, nextCents: 0, restCents: 0 })).toEqual([]);
});

it("makes no request for a malformed link", async () => {
  for (const link of [
    { order: "", token: "x" },
    { order: "doce", token: "x" },
    { order: "12", token: "" },
  ]) {
    await expect(loadPlan(link)).rejects.toThrow("El enlace no es válido o ha caducado.");
  }
});

import { expect, it } from "vitest";
import goldenFile from "../../../apps/pricing/golden_cases.json";
import type { BudgetSubject } from "../../schemas/budget";
import { Pricing } from "../../schemas/pricing";
import {
  availableSubjects,
  type Budget,
  type BudgetEvent,
  budgetPayload,
  change,
  isComplete,
  NEW_BUDGET,
  quote,
} from "./state";

const pricing = Pricing.parse({ ...goldenFile.pricing, campaign: null });
const subject = (id: number, euros = 200): BudgetSubject => ({
  id,
  name: `Asignatura ${id}`,
  priceCents: euros * 100,
  degreeId: 3,
});
const [micro, macro, law] = [subject(1), subject(2), subject(3)];
const after = (...events: BudgetEvent[]): Budget => events.reduce(change, NEW_BUDGET);
const pick = (position: number, picked: BudgetSubject | null): BudgetEvent => ({
  type: "subject_picked",
  position,
  subject: picked,
});
const two: BudgetEvent = { type: "number_chosen", numberOfSubjects: 2 };
const chosen: BudgetEvent[] = [
  two,
  { type: "continued" },
  { type: "university_chosen", universityId: 7 },
  { type: "degree_chosen", degreeId: 3 },
  pick(0, micro),
  pick(1, macro),
];

it("starts with one subject, nothing ticked and no invitation", () => {
  expect(NEW_BUDGET).toEqual({
    step: "form",
    numberOfSubjects: 1,
    fullPayment: false,
    wasInvited: false,
    friendCode: "",
    codeApplied: false,
    friends: 0,
    universityId: null,
    degreeId: null,
    picks: [null],
  });
});

it("clears the degree and the chosen subjects when another university is chosen", () => {
  const budget = change(after(...chosen), { type: "university_chosen", universityId: 8 });
  expect(budget).toMatchObject({ universityId: 8, degreeId: null, picks: [null, null] });
});

it("clears the chosen subjects when another degree is chosen", () => {
  const budget = change(after(...chosen), { type: "degree_chosen", degreeId: 4 });
  expect(budget).toMatchObject({ universityId: 7, degreeId: 4, picks: [null, null] });
});

it("continues to the results only when every subject is chosen", () => {
  const missing = after(...chosen, pick(1, null));
  expect(isComplete(missing)).toBe(false);
  expect(change(missing, { type: "continued" })).toBe(missing);
  expect(change(after(...chosen), { type: "continued" }).step).toBe("results");
});

it("returns to the form from the subjects and from the results", () => {
  expect(after(...chosen, { type: "went_back" }).step).toBe("form");
  expect(after(...chosen, { type: "continued" }, { type: "went_back" }).step).toBe("form");
});

it("hides a chosen subject from the other selectors but not from its own", () => {
  const budget = after(...chosen);
  expect(availableSubjects(budget, 0, [micro, macro, law])).toEqual([micro, law]);
  expect(availableSubjects(budget, 1, [micro, macro, law])).toEqual([macro, law]);
});

it("keeps the chosen subjects that still fit when the number of subjects changes", () => {
  const fewer = after(...chosen, { type: "number_chosen", numberOfSubjects: 1 });
  expect(fewer.picks).toEqual([micro]);
  const more = after(...chosen, { type: "number_chosen", numberOfSubjects: 3 });
  expect(more.picks).toEqual([micro, macro, null]);
});

it("marks a non-blank friend code as applied until it is edited", () => {
  const invited: BudgetEvent = { type: "invited_ticked", ticked: true };
  const typed = (code: string): BudgetEvent => ({ type: "code_typed", code });
  expect(after(invited, typed("  "), { type: "code_applied" }).codeApplied).toBe(false);
  const applied = after(invited, typed("AMIGA"), { type: "code_applied" });
  expect(applied.codeApplied).toBe(true);
  expect(change(applied, typed("AMIG")).codeApplied).toBe(false);
});

it("clears the friend code, and no friends one invites, when the invitation is unticked", () => {
  const budget = after(
    { type: "friends_chosen", friends: 3 },
    { type: "invited_ticked", ticked: true },
    { type: "code_typed", code: "AMIGA" },
    { type: "invited_ticked", ticked: false },
  );
  expect(budget).toMatchObject({
    wasInvited: false,
    friendCode: "",
    codeApplied: false,
    friends: 3,
  });
});

it("prices a non-blank friend code, applied or not, and every invitee", () => {
  const budget = after(
    ...chosen,
    { type: "full_payment_ticked", ticked: true },
    { type: "invited_ticked", ticked: true },
    { type: "code_typed", code: " AMIGA " },
    { type: "friends_chosen", friends: 2 },
  );
  expect(quote(pricing, budget)).toEqual({
    baseCents: 400_00,
    discounts: [
      { name: "Descuento por volumen", amountCents: 15_00 },
      { name: "Pago completo (5 %)", amountCents: 20_00 },
      { name: "Código de amigo", amountCents: 15_00 },
      { name: "Amigos invitados", amountCents: 40_00 },
    ],
    finalCents: 310_00,
  });
  expect(quote(pricing, change(budget, { type: "code_typed", code: " " })).finalCents).toBe(325_00);
});

it("builds the body of send-budget-email, in euros", () => {
  const budget = after(...chosen);
  expect(budgetPayload(budget, quote(pricing, budget), "other")).toEqual({
    formData: {
      numberOfSubjects: "2",
      fullPayment: false,
      wasInvited: false,
      friendCode: "",
      dateRange: "other",
      numberOfInvitees: "0",
      selectedSubjects: [
        { id: 1, name: "Asignatura 1", final_price: 200, degree_id: 3 },
        { id: 2, name: "Asignatura 2", final_price: 200, degree_id: 3 },
      ],
      selectedUniversityId: 7,
      selectedDegreeId: 3,
    },
    budgetResult: {
      selectedSubjects: [
        { id: 1, name: "Asignatura 1", final_price: 200 },
        { id: 2, name: "Asignatura 2", final_price: 200 },
      ],
      basePrice: 400,
      discounts: [{ name: "Descuento por volumen", amount: 15 }],
      finalPrice: 385,
    },
  });
});

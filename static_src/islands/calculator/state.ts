/** The state of the budget calculator, as a reducer without React. */
import { type CalculatorQuote, quoteCalculator } from "../../lib/pricing/calculator";
import type { BudgetSubject } from "../../schemas/budget";
import type { Pricing } from "../../schemas/pricing";

export const MAX_SUBJECTS = 6;

export type Budget = {
  step: "form" | "subjects" | "results";
  numberOfSubjects: number;
  fullPayment: boolean;
  wasInvited: boolean;
  friendCode: string;
  /** The page accepts any non-blank code. The server checks it when the budget is sent. */
  codeApplied: boolean;
  friends: number;
  universityId: number | null;
  degreeId: number | null;
  /** The chosen subjects, one entry per selector; null where nothing is chosen yet. */
  picks: (BudgetSubject | null)[];
};

export const NEW_BUDGET: Budget = {
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
};

export type BudgetEvent =
  | { type: "number_chosen"; numberOfSubjects: number }
  | { type: "full_payment_ticked"; ticked: boolean }
  | { type: "invited_ticked"; ticked: boolean }
  | { type: "code_typed"; code: string }
  | { type: "code_applied" }
  | { type: "friends_chosen"; friends: number }
  | { type: "continued" }
  | { type: "went_back" }
  | { type: "university_chosen"; universityId: number | null }
  | { type: "degree_chosen"; degreeId: number | null }
  | { type: "subject_picked"; position: number; subject: BudgetSubject | null };

export function change(budget: Budget, event: BudgetEvent): Budget {
  const noPicks = Array<null>(budget.numberOfSubjects).fill(null);
  switch (event.type) {
    case "number_chosen": {
      const { numberOfSubjects } = event;
      const picks = Array.from({ length: numberOfSubjects }, (_, at) => budget.picks[at] ?? null);
      return { ...budget, numberOfSubjects, picks };
    }
    case "full_payment_ticked":
      return { ...budget, fullPayment: event.ticked };
    case "invited_ticked":
      // The field of the code is hidden when this is unticked, so clear it.
      return { ...budget, wasInvited: event.ticked, friendCode: "", codeApplied: false };
    case "code_typed":
      return { ...budget, friendCode: event.code, codeApplied: false };
    case "code_applied":
      return { ...budget, codeApplied: budget.friendCode.trim() !== "" };
    case "friends_chosen":
      return { ...budget, friends: event.friends };
    case "continued":
      if (budget.step === "form") return { ...budget, step: "subjects" };
      return isComplete(budget) ? { ...budget, step: "results" } : budget;
    case "went_back":
      return { ...budget, step: "form" };
    case "university_chosen":
      return { ...budget, universityId: event.universityId, degreeId: null, picks: noPicks };
    case "degree_chosen":
      return { ...budget, degreeId: event.degreeId, picks: noPicks };
    case "subject_picked":
      return { ...budget, picks: budget.picks.with(event.position, event.subject) };
  }
}

export function isComplete({ picks }: Budget): boolean {
  return picks.every((pick) => pick !== null);
}

/** The subjects that the selector at `position` lists: those not chosen in another selector. */
export function availableSubjects(
  { picks }: Budget,
  position: number,
  subjects: readonly BudgetSubject[],
): BudgetSubject[] {
  const elsewhere = new Set(picks.filter((_, at) => at !== position).map((pick) => pick?.id));
  return subjects.filter(({ id }) => !elsewhere.has(id));
}

export function chosenSubjects({ picks }: Budget): BudgetSubject[] {
  return picks.filter((pick) => pick !== null);
}

/** The degree of the chosen subjects, if they have one in common: its campaign counts. */
export function chosenDegree(budget: Budget): number | null {
  const degrees = new Set(chosenSubjects(budget).map(({ degreeId }) => degreeId));
  const [only] = degrees;
  return degrees.size === 1 && only !== undefined ? only : null;
}

export function quote(pricing: Pricing, budget: Budget): CalculatorQuote {
  return quoteCalculator(
    pricing,
    chosenSubjects(budget).map(({ priceCents }) => priceCents),
    {
      numberOfSubjects: budget.numberOfSubjects,
      fullPayment: budget.fullPayment,
      hasFriendCode: budget.wasInvited && budget.friendCode.trim() !== "",
      friends: budget.friends,
      degreeId: chosenDegree(budget),
    },
  );
}

/** The body of send-budget-email without the contact data; amounts in euros. */
export function budgetPayload(budget: Budget, result: CalculatorQuote, dateRange: string) {
  const subjects = chosenSubjects(budget).map(({ id, name, priceCents, degreeId }) => ({
    id,
    name,
    final_price: priceCents / 100,
    degree_id: degreeId,
  }));
  return {
    formData: {
      numberOfSubjects: String(budget.numberOfSubjects),
      fullPayment: budget.fullPayment,
      wasInvited: budget.wasInvited,
      friendCode: budget.friendCode.trim(),
      dateRange,
      numberOfInvitees: String(budget.friends),
      selectedSubjects: subjects,
      selectedUniversityId: budget.universityId,
      selectedDegreeId: budget.degreeId,
    },
    budgetResult: {
      selectedSubjects: subjects.map(({ id, name, final_price }) => ({ id, name, final_price })),
      basePrice: result.baseCents / 100,
      discounts: result.discounts.map(({ name, amountCents }) => ({
        name,
        amount: amountCents / 100,
      })),
      finalPrice: result.finalCents / 100,
    },
  };
}

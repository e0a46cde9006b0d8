import { useEffect, useReducer, useRef } from "react";
import type { Academy } from "../../schemas/academy";
import type { Pricing } from "../../schemas/pricing";
import { BudgetForm } from "./BudgetForm";
import { Results } from "./Results";
import { SubjectsStep } from "./SubjectsStep";
import { change, NEW_BUDGET } from "./state";

type Props = { academy: Academy; pricing: Pricing; dateRange: string };

const STEPS = { form: 1, subjects: 2, results: 3 };
const TITLES = {
  form: "Cuántas asignaturas y cómo pagas",
  subjects: "Elige tus asignaturas",
  results: "Tu presupuesto",
};

/** From the number of subjects to a quote by e-mail. Its HTML before: `templates/pages/_calculator.html`. */
export function Calculator({ academy, pricing, dateRange }: Props) {
  const [budget, dispatch] = useReducer(change, NEW_BUDGET);
  const title = useRef<HTMLHeadingElement>(null);
  const shownStep = useRef(budget.step);

  // Each step is announced by its title; the first one does not call for attention by itself.
  useEffect(() => {
    if (shownStep.current !== budget.step) title.current?.focus();
    shownStep.current = budget.step;
  }, [budget.step]);

  return (
    <>
      <p className="calculator__step">Paso {STEPS[budget.step]} de 3</p>
      <h3 className="calculator__title" ref={title} tabIndex={-1}>
        {TITLES[budget.step]}
      </h3>
      {budget.step === "form" && (
        <BudgetForm budget={budget} dispatch={dispatch} inviteeMax={pricing.inviteeMax} />
      )}
      {budget.step === "subjects" && <SubjectsStep budget={budget} dispatch={dispatch} />}
      {budget.step === "results" && (
        <Results
          budget={budget}
          onBack={() => dispatch({ type: "went_back" })}
          academy={academy}
          pricing={pricing}
          dateRange={dateRange}
        />
      )}
    </>
  );
}

import { useEffect, useReducer, useRef } from "react";
import * as z from "zod/mini";
import { defineIsland } from "../../lib/island";
import { Academy } from "../../schemas/academy";
import { Pricing } from "../../schemas/pricing";
import { BudgetForm } from "./BudgetForm";
import { Results } from "./Results";
import { SubjectsStep } from "./SubjectsStep";
import { change, NEW_BUDGET } from "./state";

/** The props from `apps/pages/calculator_props.py`. */
const Props = z.pipe(
  z.object({
    academy: Academy,
    pricing: Pricing,
    date_range: z.enum(["august", "september", "other"]),
  }),
  z.transform(({ date_range, ...rest }) => ({ ...rest, dateRange: date_range })),
);
type Props = z.output<typeof Props>;

const STEPS = { form: 1, subjects: 2, results: 3 };
const TITLES = {
  form: "Cuántas asignaturas y cómo pagas",
  subjects: "Elige tus asignaturas",
  results: "Tu presupuesto",
};

/** The budget calculator. `templates/pages/_calculator.html` has the HTML shown until it loads. */
function Calculator({ academy, pricing, dateRange }: Props) {
  const [budget, dispatch] = useReducer(change, NEW_BUDGET);
  const title = useRef<HTMLHeadingElement>(null);
  const previousStep = useRef(budget.step);

  // Focus the title of each new step, so that screen readers announce it. Not when the page loads.
  useEffect(() => {
    if (previousStep.current !== budget.step) title.current?.focus();
    previousStep.current = budget.step;
  }, [budget.step]);

  return (
    <>
      <p className="calculator__step">Paso {STEPS[budget.step]} de 3</p>
      <h3 className="calculator__title" ref={title} tabIndex={-1}>
        {TITLES[budget.step]}
      </h3>
      {budget.step === "form" && (
        <BudgetForm budget={budget} dispatch={dispatch} pricing={pricing} />
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

export default defineIsland(Props, Calculator);

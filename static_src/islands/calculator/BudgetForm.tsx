import type { Dispatch, FormEvent } from "react";
import { Checkbox, Field } from "../../lib/forms/fields";
import { SelectField } from "../../lib/forms/leadForm";
import { formatEuros } from "../../lib/pricing/money";
import type { Pricing } from "../../schemas/pricing";
import { type Budget, type BudgetEvent, MAX_SUBJECTS } from "./state";

type Props = { budget: Budget; dispatch: Dispatch<BudgetEvent>; pricing: Pricing };

/** Step 1: the number of subjects, full payment, and invitations: received and made. */
export function BudgetForm({ budget, dispatch, pricing }: Props) {
  const { friendsMax, perFriendCents } = pricing;
  const { numberOfSubjects, fullPayment, wasInvited, friendCode, codeApplied, friends } = budget;

  function submit(event: FormEvent) {
    event.preventDefault();
    dispatch({ type: "continued" });
  }

  return (
    <form className="form" onSubmit={submit}>
      <SelectField
        label="Número de asignaturas"
        value={numberOfSubjects}
        onChange={({ target }) =>
          dispatch({ type: "number_chosen", numberOfSubjects: Number(target.value) })
        }
      >
        {range(1, MAX_SUBJECTS).map((number) => (
          <option key={number}>{number}</option>
        ))}
      </SelectField>
      <div>
        <Checkbox
          checked={fullPayment}
          onChange={(ticked) => dispatch({ type: "full_payment_ticked", ticked })}
        >
          Pago completo
        </Checkbox>
        <Checkbox
          checked={wasInvited}
          onChange={(ticked) => dispatch({ type: "invited_ticked", ticked })}
        >
          Me ha invitado un amigo
        </Checkbox>
      </div>
      {wasInvited && (
        <div>
          <div className="calculator__code">
            <Field
              label="Código de amigo"
              autoComplete="off"
              value={friendCode}
              maxLength={40}
              onChange={({ target }) => dispatch({ type: "code_typed", code: target.value })}
            />
            <button
              type="button"
              className="button button--quiet"
              disabled={friendCode.trim() === ""}
              onClick={() => dispatch({ type: "code_applied" })}
            >
              Aplicar
            </button>
          </div>
          <p className="calculator__applied" role="status">
            {codeApplied && "✅ Código aplicado correctamente"}
          </p>
        </div>
      )}
      <SelectField
        label="Amigos que invitas tú"
        hint={`${formatEuros(perFriendCents)} menos por cada amigo que compre.`}
        value={friends}
        onChange={({ target }) =>
          dispatch({ type: "friends_chosen", friends: Number(target.value) })
        }
      >
        {range(0, friendsMax).map((number) => (
          <option key={number}>{number}</option>
        ))}
      </SelectField>
      <button type="submit" className="button button--large">
        Calcular Presupuesto
      </button>
    </form>
  );
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, step) => first + step);
}

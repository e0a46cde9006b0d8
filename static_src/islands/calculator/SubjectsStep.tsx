import { type Dispatch, type FormEvent, useId } from "react";
import * as z from "zod/mini";
import { SelectField } from "../../lib/forms/leadForm";
import { get } from "../../lib/http/api";
import { type Resource, ResourceCache, useResource } from "../../lib/http/resource";
import { BackIcon } from "../../lib/icons";
import { formatEuros } from "../../lib/pricing/money";
import { BudgetSubject } from "../../schemas/budget";
import { Degree, University } from "../../schemas/universities";
import { availableSubjects, type Budget, type BudgetEvent, isComplete } from "./state";

type Props = { budget: Budget; dispatch: Dispatch<BudgetEvent> };

const universityLists = new ResourceCache<University[]>();
const degreeLists = new ResourceCache<Degree[]>();
const subjectLists = new ResourceCache<BudgetSubject[]>();

/** Step 2: university, degree and subjects. Each choice clears the choices that depend on it. */
export function SubjectsStep({ budget, dispatch }: Props) {
  const { numberOfSubjects, universityId, degreeId, picks } = budget;
  const heading = useId();
  const universities = useList(universityLists, "/api/universities", z.array(University));
  const degrees = useList(
    degreeLists,
    universityId && `/api/degrees?university_id=${universityId}`,
    z.array(Degree),
  );
  const subjects = useList(
    subjectLists,
    degreeId && `/api/subjects?degree_id=${degreeId}`,
    z.array(BudgetSubject),
  );
  const subjectList = listOf(subjects);

  function submit(event: FormEvent) {
    event.preventDefault();
    dispatch({ type: "continued" });
  }

  return (
    <form className="form" onSubmit={submit}>
      <button
        type="button"
        className="button button--plain calculator__back"
        onClick={() => dispatch({ type: "went_back" })}
      >
        <BackIcon />
        Volver
      </button>
      <div className="form__row">
        <SelectField
          label="Universidad"
          value={universityId ?? ""}
          onChange={({ target }) =>
            dispatch({ type: "university_chosen", universityId: idOf(target.value) })
          }
        >
          <option value="">
            {universities.status === "loading" ? "Cargando..." : "Selecciona una universidad"}
          </option>
          {listOf(universities).map(({ id, name, acronym, comingSoon }) => (
            <option key={id} value={id} disabled={comingSoon}>
              {`${name} (${acronym})${comingSoon ? " · Próximamente" : ""}`}
            </option>
          ))}
        </SelectField>
        {universityId && (
          <SelectField
            label="Carrera"
            value={degreeId ?? ""}
            onChange={({ target }) =>
              dispatch({ type: "degree_chosen", degreeId: idOf(target.value) })
            }
          >
            <option value="">
              {degrees.status === "loading" ? "Cargando..." : "Selecciona una carrera"}
            </option>
            {listOf(degrees).map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </SelectField>
        )}
      </div>
      {degreeId && subjects.status === "loading" && <p role="status">Cargando...</p>}
      {subjectList.length > 0 && (
        <fieldset className="calculator__subjects" aria-labelledby={heading}>
          <h4 id={heading}>
            Selecciona {numberOfSubjects} asignatura{numberOfSubjects > 1 && "s"}
          </h4>
          {subjectList.length < numberOfSubjects && (
            <p className="notice notice--warning">
              En esta carrera hay {subjectList.length} asignatura{subjectList.length > 1 && "s"}.
              Vuelve atrás para pedir menos, o elige otra carrera.
            </p>
          )}
          <div className="form__row">
            {picks.map((pick, position) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a selector is its position.
              <div key={position} className="calculator__pick">
                <SelectField
                  label={`Asignatura ${position + 1}`}
                  value={pick?.id ?? ""}
                  onChange={({ target }) =>
                    dispatch({
                      type: "subject_picked",
                      position,
                      subject: subjectList.find(({ id }) => id === idOf(target.value)) ?? null,
                    })
                  }
                >
                  <option value="">Selecciona una asignatura</option>
                  {availableSubjects(budget, position, subjectList).map(
                    ({ id, name, priceCents }) => (
                      <option key={id} value={id}>
                        {`${name} – ${formatEuros(priceCents)}`}
                      </option>
                    ),
                  )}
                </SelectField>
                {/* A long name pushes the price out of the closed selector. */}
                {pick && (
                  <span className="price calculator__picked">{formatEuros(pick.priceCents)}</span>
                )}
              </div>
            ))}
          </div>
        </fieldset>
      )}
      <button type="submit" className="button button--large" disabled={!isComplete(budget)}>
        Ver presupuesto
      </button>
    </form>
  );
}

/**
 * A list of the API. Nothing is loaded without a path. A failure is logged, and the list stays
 * empty.
 */
function useList<Row>(
  cache: ResourceCache<Row[]>,
  path: string | null | 0,
  schema: z.ZodMiniType<Row[]>,
): Resource<Row[]> {
  return useResource(cache, path || null, (signal) => get(path || "", schema, { signal }));
}

function listOf<Row>(resource: Resource<Row[]>): Row[] {
  return resource.status === "ready" ? resource.data : [];
}

const idOf = (value: string) => (value ? Number(value) : null);

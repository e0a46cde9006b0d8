import { type KeyboardEvent, useEffect, useId, useReducer } from "react";
import * as z from "zod/mini";
import { LockIcon } from "../../lib/icons";
import { defineIsland } from "../../lib/island";
import { PreviewItem, PreviewSample } from "../../schemas/pages";
import { ItemPanel } from "./ItemPanel";
import { change, FRAGMENTS, firstPreview, isAccessible, type Plan, planOf } from "./plan";

const PLANS: { plan: Plan; name: string }[] = [
  { plan: "individual", name: "PEC Individual" },
  { plan: "full", name: "Asignatura Completa" },
];

type Props = {
  subject: string;
  semester: string;
  items: PreviewItem[];
  sample: PreviewSample | null;
};

/** A ring that shows how many of the items the plan opens. */
function Opened({ count, total }: { count: number; total: number }) {
  return (
    <p className="ring">
      <svg viewBox="0 0 36 36" aria-hidden="true" focusable="false">
        <circle cx="18" cy="18" r="15.5" pathLength={total} />
        <circle cx="18" cy="18" r="15.5" pathLength={total} strokeDasharray={`${count} ${total}`} />
      </svg>
      {count} de {total} abiertas con este plan
    </p>
  );
}

/**
 * A sample subject of the platform as each plan shows it. `templates/pages/_plan_preview.html` has
 * the HTML shown until it loads.
 */
function PlanPreview({ subject, semester, items, sample }: Props) {
  const [state, dispatch] = useReducer(change, planOf(location.hash) ?? "individual", (plan) =>
    firstPreview(plan, sample?.itemId),
  );
  const id = useId();
  const item = items.find((other) => other.id === state.itemId);

  // The header's menu links to a plan on this page, too.
  useEffect(() => {
    const follow = () => {
      const plan = planOf(location.hash);
      if (plan) dispatch({ type: "plan_chosen", plan });
    };
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);

  // There are two tabs, so both arrow keys switch to the other one.
  function onKeyDown({ key, currentTarget }: KeyboardEvent<HTMLElement>) {
    if (key !== "ArrowLeft" && key !== "ArrowRight") return;
    const other = PLANS.find(({ plan }) => plan !== state.plan);
    if (!other) return;
    dispatch({ type: "plan_chosen", plan: other.plan });
    currentTarget.querySelector<HTMLElement>(`[data-plan=${other.plan}]`)?.focus();
  }

  return (
    <div className="preview">
      <div className="preview__tabs" role="tablist" aria-label="Plan" onKeyDown={onKeyDown}>
        {PLANS.map(({ plan, name }) => (
          <button
            key={plan}
            type="button"
            role="tab"
            className="preview__tab"
            id={FRAGMENTS[plan]}
            data-plan={plan}
            aria-selected={plan === state.plan}
            aria-controls={`${id}-panel`}
            tabIndex={plan === state.plan ? 0 : -1}
            onClick={() => dispatch({ type: "plan_chosen", plan })}
          >
            {name}
          </button>
        ))}
      </div>
      <div
        className="preview__plan card"
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={FRAGMENTS[state.plan]}
      >
        <div className="preview__head">
          <div>
            <h2 className="preview__subject">{subject}</h2>
            <p className="preview__semester">{semester}</p>
          </div>
          <Opened
            count={items.filter(({ id: itemId }) => isAccessible(state.plan, itemId)).length}
            total={items.length}
          />
        </div>
        {state.plan === "individual" && (
          <p className="notice">
            Disponible únicamente una vez iniciado el curso. Las PECs individuales solo están
            disponibles para determinadas asignaturas.
          </p>
        )}
        <div className="preview__columns">
          <ul className="preview__items">
            {items.map(({ id: itemId, name, status }) =>
              isAccessible(state.plan, itemId) ? (
                <li key={itemId}>
                  <button
                    type="button"
                    className="preview__item"
                    aria-pressed={itemId === state.itemId}
                    onClick={() => dispatch({ type: "item_pressed", itemId })}
                  >
                    <strong>{name}</strong>
                    <span>{status}</span>
                  </button>
                </li>
              ) : (
                <li key={itemId}>
                  <button type="button" className="preview__item" aria-disabled="true">
                    <strong>{name}</strong>
                    <span>
                      <LockIcon />
                      Desbloquear
                    </span>
                  </button>
                </li>
              ),
            )}
          </ul>
          <div className="preview__content">
            {item ? (
              <ItemPanel
                item={item}
                sample={sample?.itemId === item.id ? sample : null}
                plan={state.plan}
                chosen={state.content}
                onChoose={(content) => dispatch({ type: "content_pressed", content })}
              />
            ) : (
              <p className="preview__nothing">Elige una PEC de la lista para ver su contenido.</p>
            )}
          </div>
        </div>
      </div>
    </div>
  );
}

export default defineIsland(
  z.object({
    subject: z.string(),
    semester: z.string(),
    items: z.array(PreviewItem),
    sample: z.nullable(PreviewSample),
  }),
  PlanPreview,
);

import { useCallback, useEffect, useState } from "react";
import { ApiError } from "../../lib/api";
import { formatEuros } from "../../lib/money";
import type { Academy } from "../../schemas/academy";
import type { Plan } from "../../schemas/instalments";
import { Payment } from "./Payment";
import { INVALID_LINK, type Link, loadPlan, rowSentence } from "./plan";

type Props = Link & { academy: Academy };
type State =
  | { kind: "loading" }
  | { kind: "loaded"; plan: Plan }
  | { kind: "failed"; text: string };

/** A plan of instalments behind its personal link: what is paid, what is due, and how to pay it. */
export function Instalments({ order, token, academy }: Props) {
  const [state, setState] = useState<State>({ kind: "loading" });
  const [returned] = useState(fromBank);

  const load = useCallback(
    (signal?: AbortSignal) =>
      loadPlan({ order, token }, signal).then(
        (plan) => setState({ kind: "loaded", plan }),
        (error: Error) => {
          if (signal?.aborted) return;
          const text = error instanceof ApiError ? error.message : INVALID_LINK;
          setState({ kind: "failed", text });
        },
      ),
    [order, token],
  );
  useEffect(() => {
    if (returned) return;
    const controller = new AbortController();
    load(controller.signal);
    return () => controller.abort();
  }, [load, returned]);

  if (returned) {
    return (
      <div className={`notice notice--${returned.saved ? "success" : "warning"}`} role="status">
        <p>{returned.saved ? "Hemos guardado tu tarjeta." : "No se ha guardado la tarjeta."}</p>
        <p>Para ver tus plazos, vuelve a abrir el enlace de tu correo.</p>
      </div>
    );
  }
  if (state.kind === "loading") {
    return (
      <p className="recovery__wait" role="status">
        Cargando tus plazos...
      </p>
    );
  }
  if (state.kind === "failed") {
    return (
      <div className="card recovery__message" role="alert">
        <h2>{state.text}</h2>
        <p>
          Si crees que es un error, escríbenos a{" "}
          <a href={`mailto:${academy.supportEmail}`}>{academy.supportEmail}</a>.
        </p>
        <a className="button" href="/">
          Volver al inicio
        </a>
      </div>
    );
  }
  const { plan } = state;
  return (
    <div className="recovery__columns">
      <section className="card" aria-labelledby="plan-heading">
        <h2 id="plan-heading">Pedido n.º {plan.orderId}</h2>
        <p>{plan.items.join(" · ")}</p>
        <ul className="recovery__items">
          {plan.rows.map((row) => (
            <li key={row.number}>
              <div>
                <strong>Plazo {row.number}</strong>
                <small>{rowSentence(row, plan.cardWorks)}</small>
                <span className={`badge ${TONES[row.state] ?? ""}`}>{STATES[row.state]}</span>
              </div>
              <span className="price">{formatEuros(row.amountCents)}</span>
            </li>
          ))}
        </ul>
        <dl className="recovery__facts">
          <div>
            <dt>Total, IVA incluido</dt>
            <dd>{formatEuros(plan.totalCents)}</dd>
          </div>
          <div>
            <dt>Queda por pagar</dt>
            <dd>{formatEuros(plan.restCents)}</dd>
          </div>
          {plan.card && plan.restCents > 0 && (
            <div>
              <dt>Tarjeta</dt>
              <dd>{plan.card}</dd>
            </div>
          )}
        </dl>
      </section>
      <section className="card" aria-labelledby="plan-pay">
        <h2 id="plan-pay">Pago con tarjeta</h2>
        <Payment plan={plan} link={{ order, token }} onChange={load} />
      </section>
    </div>
  );
}

const STATES = {
  paid: "Pagado",
  due: "Pendiente",
  refused: "Rechazado",
  overdue: "Vencido",
  canceled: "Anulado",
};

const TONES: Partial<Record<keyof typeof STATES, string>> = {
  paid: "badge--accent",
  refused: "badge--warning",
  overdue: "badge--warning",
};

/** Back from the bank's own page after a change of card; what Stripe added to the address goes. */
function fromBank(): { saved: boolean } | null {
  const status = new URLSearchParams(window.location.search).get("redirect_status");
  if (!status) return null;
  window.history.replaceState(null, "", "/plazos");
  return { saved: status === "succeeded" };
}

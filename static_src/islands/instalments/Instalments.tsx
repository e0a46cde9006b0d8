import { useCallback, useEffect, useState } from "react";
import { ApiError } from "../../lib/http/api";
import { formatEuros } from "../../lib/pricing/money";
import { vatNote } from "../../lib/pricing/vatNote";
import type { Academy } from "../../schemas/academy";
import type { InstalmentPlan } from "../../schemas/instalments";
import { LinkFailed } from "../payment/LinkFailed";
import { InstalmentPayment } from "./InstalmentPayment";
import { INVALID_LINK, instalmentMessage, type Link, loadPlan } from "./instalmentPlan";

type Props = Link & { academy: Academy };
type State =
  | { kind: "loading" }
  | { kind: "loaded"; plan: InstalmentPlan }
  | { kind: "failed"; text: string };

/** The page of an instalment plan's link: the state of each instalment, and its payment. */
export function Instalments({ order, token, academy }: Props) {
  const [state, setState] = useState<State>({ kind: "loading" });
  const [bankReturn] = useState(takeBankReturn);

  const load = useCallback(
    (signal?: AbortSignal) =>
      loadPlan({ order, token }, signal).then(
        (plan) => setState({ kind: "loaded", plan }),
        (error: Error) => {
          if (signal?.aborted) return;
          const text = error instanceof ApiError ? error.message : INVALID_LINK;
          // A plan that is shown stays, although it could not be loaded again.
          setState((shown) => (shown.kind === "loaded" ? shown : { kind: "failed", text }));
        },
      ),
    [order, token],
  );
  useEffect(() => {
    if (bankReturn) return;
    const controller = new AbortController();
    load(controller.signal);
    return () => controller.abort();
  }, [load, bankReturn]);

  if (bankReturn) {
    return (
      <div className={`notice notice--${bankReturn.saved ? "success" : "warning"}`} role="status">
        <p>{bankReturn.saved ? "Hemos guardado tu tarjeta." : "No se ha guardado la tarjeta."}</p>
        <p>Para ver tus plazos, vuelve a abrir el enlace de tu email.</p>
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
    return <LinkFailed title={state.text} academy={academy} />;
  }
  const { plan } = state;
  return (
    <div className="recovery__columns">
      <section className="card" aria-labelledby="instalments-heading">
        <h2 id="instalments-heading">Pedido n.º {plan.orderId}</h2>
        <p>{plan.items.join(" · ")}</p>
        <ul className="recovery__items">
          {plan.instalments.map((instalment) => (
            <li key={instalment.number}>
              <div>
                <strong>Plazo {instalment.number}</strong>
                <small>{instalmentMessage(instalment, plan.cardWorks)}</small>
                <span className={`badge ${TONES[instalment.state] ?? ""}`}>
                  {STATES[instalment.state]}
                </span>
              </div>
              <span className="price">{formatEuros(instalment.amountCents)}</span>
            </li>
          ))}
        </ul>
        <dl className="recovery__facts">
          <div>
            <dt>Total, {vatNote()}</dt>
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
      <section className="card" aria-labelledby="instalments-pay">
        <h2 id="instalments-pay">Pago con tarjeta</h2>
        <InstalmentPayment plan={plan} link={{ order, token }} onChange={load} />
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

/**
 * The result in the address when the bank's page has sent the student back after a change of card.
 * It is removed from the address.
 */
function takeBankReturn(): { saved: boolean } | null {
  const status = new URLSearchParams(window.location.search).get("redirect_status");
  if (!status) return null;
  window.history.replaceState(null, "", "/plazos");
  return { saved: status === "succeeded" };
}

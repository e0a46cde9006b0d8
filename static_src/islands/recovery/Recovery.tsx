import { useEffect, useState } from "react";
import { ApiError } from "../../lib/api";
import type { Academy } from "../../schemas/academy";
import type { RecoveredOrder } from "../../schemas/payments";
import type { Pricing } from "../../schemas/pricing";
import { NothingLeft, RecoveredPurchase } from "./RecoveredPurchase";
import { type Link, loadOrder } from "./recovered";

type Props = Link & { pricing: Pricing; academy: Academy };

type State =
  | { kind: "loading" }
  | { kind: "loaded"; order: RecoveredOrder }
  | { kind: "failed"; text: string; detail: string };

/** The page behind a recovery link (shop spec, section 2, "Cart-recovery page"). */
export function Recovery({ order, token, pricing, academy }: Props) {
  const [state, setState] = useState<State>({ kind: "loading" });

  useEffect(() => {
    const controller = new AbortController();
    loadOrder({ order, token }, controller.signal).then(
      (loaded) => setState({ kind: "loaded", order: loaded }),
      (error: Error) => {
        if (controller.signal.aborted) return;
        const offline = error.cause instanceof ApiError && error.cause.code === "network";
        const detail = offline && error.cause instanceof ApiError ? error.cause.message : "";
        setState({ kind: "failed", text: error.message, detail });
      },
    );
    return () => controller.abort();
  }, [order, token]);

  if (state.kind === "loading") {
    return (
      <p className="recovery__wait" role="status">
        Cargando tu matrícula...
      </p>
    );
  }
  if (state.kind === "failed") {
    return (
      <div className="card recovery__message" role="alert">
        <h2>{state.text}</h2>
        {state.detail && <p>{state.detail}</p>}
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
  if (state.order.items.length === 0) return <NothingLeft order={state.order} />;
  return (
    <RecoveredPurchase order={state.order} token={token} pricing={pricing} academy={academy} />
  );
}

import { useEffect, useState } from "react";
import { ApiError } from "../../lib/api";
import { LinkFailed } from "../../lib/LinkFailed";
import type { Academy } from "../../schemas/academy";
import type { Pricing } from "../../schemas/pricing";
import type { RecoveredOrder } from "../../schemas/recovery";
import { NothingLeft, RecoveredPurchase } from "./RecoveredPurchase";
import { type Link, loadOrder } from "./recoveredOrder";

type Props = Link & { pricing: Pricing; academy: Academy };

type State =
  | { kind: "loading" }
  | { kind: "loaded"; order: RecoveredOrder }
  | { kind: "failed"; text: string; detail: string };

/** The page of a recovery link: loads an unpaid order and offers to pay it. */
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
    return <LinkFailed title={state.text} detail={state.detail} academy={academy} />;
  }
  if (state.order.items.length === 0) return <NothingLeft order={state.order} />;
  return (
    <RecoveredPurchase order={state.order} token={token} pricing={pricing} academy={academy} />
  );
}

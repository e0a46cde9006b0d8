import { useEffect, useState } from "react";
import { ApiError } from "../../lib/http/api";
import type { Academy } from "../../schemas/academy";
import type { Pricing } from "../../schemas/pricing";
import type { RecoveredOrder } from "../../schemas/recovery";
import { LinkFailed } from "../payment/LinkFailed";
import { recoveryUrl } from "../payment/pendingPayment";
import { AlreadyPaid, NothingLeft, RecoveredPurchase } from "./RecoveredPurchase";
import { type Link, loadOrder } from "./recoveredOrder";

type Props = Link & { pricing: Pricing; portalUrl: string; academy: Academy };

type State =
  | { kind: "loading" }
  | { kind: "loaded"; order: RecoveredOrder }
  | { kind: "paid" }
  | { kind: "failed"; text: string; detail: string };

/** The page of a recovery link: loads an unpaid order and offers to pay it. */
export function Recovery({ order, token, pricing, portalUrl, academy }: Props) {
  const [attempt, setAttempt] = useState(0);
  const [state, setState] = useState<State>({ kind: "loading" });

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt loads the order again.
  useEffect(() => {
    setState({ kind: "loading" });
    const controller = new AbortController();
    loadOrder({ order, token }, controller.signal).then(
      (loaded) => {
        // The mailed link names an address, which the buyer may change here: a reload opens it too.
        history.replaceState(history.state, "", recoveryUrl({ orderId: loaded.id, token }));
        setState({ kind: "loaded", order: loaded });
      },
      (error: Error) => {
        if (controller.signal.aborted) return;
        const { code = "", message = "" } = error.cause instanceof ApiError ? error.cause : {};
        if (code === "already_paid") return setState({ kind: "paid" });
        const detail = code === "network" ? message : "";
        setState({ kind: "failed", text: error.message, detail });
      },
    );
    return () => controller.abort();
  }, [order, token, attempt]);

  if (state.kind === "loading") {
    return (
      <p className="recovery__wait" role="status">
        Cargando tu matrícula...
      </p>
    );
  }
  if (state.kind === "failed") {
    return (
      <LinkFailed
        title={state.text}
        detail={state.detail}
        academy={academy}
        onRetry={state.detail ? () => setAttempt(attempt + 1) : undefined}
      />
    );
  }
  if (state.kind === "paid") return <AlreadyPaid portalUrl={portalUrl} academy={academy} />;
  if (state.order.items.length === 0) return <NothingLeft order={state.order} />;
  return (
    <RecoveredPurchase order={state.order} token={token} pricing={pricing} academy={academy} />
  );
}

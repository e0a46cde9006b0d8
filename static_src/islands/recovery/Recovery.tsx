import { useEffect, useState } from "react";
import { ApiError } from "../../lib/http/api";
import type { Academy } from "../../schemas/academy";
import type { Pricing } from "../../schemas/pricing";
import type { RecoveredOrder } from "../../schemas/recovery";
import { LinkFailed } from "../payment/LinkFailed";
import { AlreadyPaid, NothingLeft, RecoveredPurchase } from "./RecoveredPurchase";
import { type Link, loadOrder } from "./recoveredOrder";

/** `mailedTo` is a digest of the address to which the link was mailed, or empty. */
type Props = Link & {
  mailedTo: string;
  pricing: Pricing;
  portalUrl: string;
  academy: Academy;
};

type State =
  | { kind: "loading" }
  | { kind: "loaded"; order: RecoveredOrder }
  | { kind: "paid" }
  | { kind: "failed"; text: string; detail: string };

/** The page of a recovery link: loads an unpaid order and offers to pay it. */
export function Recovery({ order, token, mailedTo, pricing, portalUrl, academy }: Props) {
  const [attempt, setAttempt] = useState(0);
  const [state, setState] = useState<State>({ kind: "loading" });

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new attempt loads the order again.
  useEffect(() => {
    setState({ kind: "loading" });
    const controller = new AbortController();
    const query = mailedTo && `${new URLSearchParams({ correo: mailedTo })}`;
    loadOrder({ order, token }, controller.signal, query).then(
      (loaded) => setState({ kind: "loaded", order: loaded }),
      (error: Error) => {
        if (controller.signal.aborted) return;
        const { code = "", message = "" } = error.cause instanceof ApiError ? error.cause : {};
        if (code === "already_paid") return setState({ kind: "paid" });
        // Changed since the page was served, which now says so.
        if (code === "cart_changed") return window.location.reload();
        const detail = code === "network" ? message : "";
        setState({ kind: "failed", text: error.message, detail });
      },
    );
    return () => controller.abort();
  }, [order, token, mailedTo, attempt]);

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

import { type FormEvent, useState } from "react";
import * as z from "zod/mini";
import { EmailField } from "../../lib/forms/fields";
import { ApiError, post } from "../../lib/http/api";
import type { OrderCredentials } from "../../schemas/checkout";

const Corrected = z.object({ email: z.string() });
const FAILED = "No hemos podido cambiar el email. Inténtalo de nuevo.";

// One function for all renders: React calls a new one after each, which would take the focus again.
const focusOn = (element: HTMLElement | null) => element?.focus();

type State =
  | { step: "closed" | "open" | "sending"; error: string }
  | { step: "corrected"; email: string };

/** Lets the buyer correct a mistyped address, which a mailed link then confirms. */
export function EmailCorrection({ order }: { order: OrderCredentials }) {
  const [state, setState] = useState<State>({ step: "closed", error: "" });
  const [email, setEmail] = useState("");

  async function send(event: FormEvent) {
    event.preventDefault();
    if (state.step === "sending") return;
    setState({ step: "sending", error: "" });
    try {
      const body = { order_id: order.orderId, token: order.token, email: email.trim() };
      const corrected = await post("/api/orders/correct-email", body, Corrected);
      setState({ step: "corrected", email: corrected.email });
    } catch (error) {
      const isSentence = error instanceof ApiError && error.code !== "unexpected";
      setState({ step: "open", error: isSentence ? error.message : FAILED });
    }
  }

  if (state.step === "corrected") {
    return (
      // The form that had the focus is gone.
      <p role="status" tabIndex={-1} ref={focusOn}>
        Te hemos escrito a <strong>{state.email}</strong>: pulsa allí el enlace para recibir la
        confirmación y el acceso.
      </p>
    );
  }
  if (state.step === "closed") {
    return (
      <button
        type="button"
        className="button button--plain"
        onClick={() => setState({ step: "open", error: "" })}
      >
        ¿No es tu email? Corrígelo
      </button>
    );
  }
  return (
    <form className="payment-result__correction" onSubmit={send} noValidate>
      <EmailField
        label="Tu email, bien escrito"
        inputMode="email"
        autoFocus
        value={email}
        error={state.error || undefined}
        onChange={(event) => setEmail(event.target.value)}
      />
      <button type="submit" className="button" aria-busy={state.step === "sending"}>
        Enviar a este email
      </button>
    </form>
  );
}

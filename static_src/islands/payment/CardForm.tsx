import { Elements, PaymentElement, useElements, useStripe } from "@stripe/react-stripe-js";
import type { PaymentIntent, SetupIntent, StripeError } from "@stripe/stripe-js";
import {
  type RefObject,
  useEffect,
  useImperativeHandle,
  useMemo,
  useState,
  useSyncExternalStore,
} from "react";
import { followStripe, type StripeState, stripeAppearance, stripeSource } from "../../lib/stripe";
import { cardErrorMessage } from "./refusals";

export type CardOutcome =
  | { kind: "charged" }
  | { kind: "bank_is_confirming" }
  /** `final`: this payment can't be retried; the next attempt needs a new client secret. */
  | { kind: "declined"; text: string; final: boolean };

/**
 * How the pay button confirms the card form. The ref that holds it is null until the form is ready.
 */
export type CardHandle = { confirm(returnUrl: string): Promise<CardOutcome> };

type Props = {
  clientSecret: string;
  email: string;
  handle: RefObject<CardHandle | null>;
};

const PREPARING = "Preparando opciones de pago...";
const LOAD_FAILED = "Error al cargar el formulario de pago";

/** Stripe's Payment Element for one client secret. Render another secret with another `key`. */
export function CardForm(props: Props) {
  const [state, setState] = useState<StripeState>({ status: "loading" });
  const dark = useDarkScheme();
  useEffect(() => followStripe(stripeSource, setState), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the design tokens it reads depend on the color scheme.
  const appearance = useMemo(stripeAppearance, [dark]);

  if (state.status === "loading") return <Preparing />;
  if (state.status === "failed") return <LoadFailed detail={state.message} />;
  return (
    <Elements
      stripe={state.stripe}
      options={{ clientSecret: props.clientSecret, appearance, locale: "es" }}
    >
      <CardFields {...props} />
    </Elements>
  );
}

function CardFields({ clientSecret, email, handle }: Props) {
  const stripe = useStripe();
  const elements = useElements();
  const [status, setStatus] = useState<"loading" | "ready" | "failed">("loading");

  useImperativeHandle<CardHandle | null, CardHandle | null>(handle, () => {
    if (status !== "ready" || !stripe || !elements) return null;
    return {
      async confirm(returnUrl) {
        const { error: incomplete } = await elements.submit();
        if (incomplete) return declined(incomplete);
        const options = {
          elements,
          clientSecret,
          confirmParams: { return_url: returnUrl },
          redirect: "if_required" as const,
        };
        // The client secret of a SetupIntent: saves the card without charging it.
        if (clientSecret.startsWith("seti_")) {
          const { error, setupIntent } = await stripe.confirmSetup(options);
          return outcomeOf(setupIntent ?? error?.setup_intent) ?? declined(error);
        }
        const { error, paymentIntent } = await stripe.confirmPayment(options);
        return outcomeOf(paymentIntent ?? error?.payment_intent) ?? declined(error);
      },
    };
  }, [status, stripe, elements, clientSecret]);

  if (status === "failed") return <LoadFailed />;
  return (
    <div className="card-form">
      {status === "loading" && <Preparing />}
      <PaymentElement
        options={{ layout: "tabs", defaultValues: { billingDetails: { email } } }}
        onReady={() => setStatus("ready")}
        onLoadError={() => setStatus("failed")}
      />
      {status === "ready" && (
        <p className="visually-hidden" role="status">
          El formulario de pago está listo.
        </p>
      )}
    </div>
  );
}

/**
 * The outcome of a payment that is charged or processing, otherwise null. An error carries the
 * payment too: it may have succeeded already, for example in another tab.
 */
function outcomeOf(payment: PaymentIntent | SetupIntent | undefined): CardOutcome | null {
  if (payment?.status === "succeeded") return { kind: "charged" };
  if (payment?.status === "processing") return { kind: "bank_is_confirming" };
  return null;
}

function declined(error: StripeError | undefined): CardOutcome {
  const final = error?.code === "payment_intent_unexpected_state";
  return { kind: "declined", text: cardErrorMessage(error ?? {}), final };
}

function Preparing() {
  return (
    <p className="card-form__wait" role="status">
      {PREPARING}
    </p>
  );
}

function LoadFailed({ detail }: { detail?: string }) {
  const retry = () => {
    stripeSource.clear();
    window.location.reload();
  };
  return (
    <div className="notice notice--error" role="alert">
      <p>
        <strong>{LOAD_FAILED}</strong>
      </p>
      {detail && <p lang="en">{detail}</p>}
      <button type="button" className="button button--quiet" onClick={retry}>
        Reintentar
      </button>
    </div>
  );
}

const darkScheme = () => window.matchMedia("(prefers-color-scheme: dark)");

function useDarkScheme(): boolean {
  return useSyncExternalStore(
    (onChange) => {
      const query = darkScheme();
      query.addEventListener("change", onChange);
      return () => query.removeEventListener("change", onChange);
    },
    () => darkScheme().matches,
  );
}

import { Elements, PaymentElement, useElements, useStripe } from "@stripe/react-stripe-js";
import type { PaymentIntent, SetupIntent, StripeError } from "@stripe/stripe-js";
import {
  type RefObject,
  useEffect,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from "react";
import { cardErrorMessage } from "./refusals";
import { followStripe, type StripeState, stripeAppearance, stripeSource } from "./stripe";
import { Waiting } from "./Waiting";

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
  /** The wallets have buttons of their own above the form: the form offers none. */
  withoutWallets?: boolean;
  /** What the form asks for, if it is more than a card. */
  label?: string;
  /** The page that "Reintentar" loads. Empty to load the current page again. */
  reloadUrl?: string;
};

const PREPARING = "Preparando opciones de pago...";
const LOAD_FAILED = "Error al cargar el formulario de pago";

/** Stripe's Payment Element for one client secret. Render another secret with another `key`. */
export function CardForm(props: Props) {
  const [state, setState] = useState<StripeState>({ status: "loading" });
  const appearance = useAppearance();
  useEffect(() => followStripe(stripeSource, setState), []);

  if (state.status === "loading") return <Waiting>{PREPARING}</Waiting>;
  if (state.status === "failed")
    return <LoadFailed detail={state.message} reloadUrl={props.reloadUrl} />;
  return (
    <Elements
      stripe={state.stripe}
      options={{ clientSecret: props.clientSecret, appearance, locale: "es" }}
    >
      <CardFields {...props} />
    </Elements>
  );
}

const NO_WALLETS = { applePay: "never", googlePay: "never" } as const;
// A card is shown first. Stripe leaves out what the payment does not take.
const ORDER = ["card", "bizum", "paypal"];

function CardFields({ clientSecret, email, handle, withoutWallets, label, reloadUrl }: Props) {
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

  // The buyer has asked for the form: the focus goes there, unless they have moved it meanwhile.
  const form = useRef<HTMLFieldSetElement>(null);
  useEffect(() => {
    const focused = document.activeElement;
    if (status !== "ready" || !focused?.matches("body,button")) return;
    form.current?.focus({ preventScroll: true });
    form.current?.scrollIntoView({ block: "nearest" });
  }, [status]);

  if (status === "failed") return <LoadFailed reloadUrl={reloadUrl} />;
  return (
    <fieldset
      className="card-form"
      ref={form}
      tabIndex={-1}
      aria-label={label ?? "Datos de la tarjeta"}
    >
      {status === "loading" && <Waiting>{PREPARING}</Waiting>}
      <PaymentElement
        options={{
          layout: "tabs",
          paymentMethodOrder: ORDER,
          defaultValues: { billingDetails: { email } },
          ...(withoutWallets ? { wallets: NO_WALLETS } : {}),
        }}
        onReady={() => setStatus("ready")}
        onLoadError={() => setStatus("failed")}
      />
      {status === "ready" && (
        <p className="visually-hidden" role="status">
          El formulario de pago está listo.
        </p>
      )}
    </fieldset>
  );
}

/** Confirm a payment with a card that is saved at Stripe. The bank may ask the student. */
export async function confirmSavedCard(clientSecret: string, card: string): Promise<CardOutcome> {
  const stripe = await stripeSource.get();
  const { error, paymentIntent } = await stripe.confirmCardPayment(clientSecret, {
    payment_method: card,
  });
  return outcomeOf(paymentIntent ?? error?.payment_intent) ?? declined(error);
}

/**
 * The outcome of a payment that is charged or processing, otherwise null. An error carries the
 * payment too: it may have succeeded already, for example in another tab.
 */
export function outcomeOf(payment: PaymentIntent | SetupIntent | undefined): CardOutcome | null {
  if (payment?.status === "succeeded") return { kind: "charged" };
  if (payment?.status === "processing") return { kind: "bank_is_confirming" };
  return null;
}

export function declined(error: StripeError | undefined): CardOutcome {
  const final = error?.code === "payment_intent_unexpected_state";
  return { kind: "declined", text: cardErrorMessage(error ?? {}), final };
}

type LoadFailedProps = { detail?: string; reloadUrl: string | undefined };

function LoadFailed({ detail, reloadUrl }: LoadFailedProps) {
  const retry = () => {
    stripeSource.clear();
    // A reload of /compra would lose the cart: load the saved order in its place.
    if (reloadUrl) window.history.replaceState(null, "", reloadUrl);
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

/** The appearance of Stripe's elements, in the page's current color scheme. */
export function useAppearance() {
  const dark = useDarkScheme();
  // biome-ignore lint/correctness/useExhaustiveDependencies: the design tokens it reads depend on the color scheme.
  return useMemo(stripeAppearance, [dark]);
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

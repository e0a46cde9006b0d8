/**
 * Loading of Stripe.js. The loader of the package @stripe/stripe-js always loads from Stripe's
 * address, but the sandbox used in development serves its own script: the server says which address
 * to use.
 */
import type { Appearance, Stripe, StripeConstructor } from "@stripe/stripe-js";
import * as z from "zod/mini";
import { get } from "../../lib/http/api";
import { StripeKey } from "../../schemas/checkout";

const RETRY_AFTER_MS = 3000;
const KEY_FAILED = "Failed to get Stripe public key";
const KEY_MISSING = "No publishable key received from server";

export type StripeState =
  | { status: "loading" }
  | { status: "ready"; stripe: Stripe }
  | { status: "failed"; message: string };

type Dependencies = {
  fetchKey(): Promise<unknown>;
  injectScript(url: string): Promise<StripeConstructor>;
  log(message: string): void;
};

/**
 * Fetches the publishable key, loads Stripe.js and caches the result. A failure is not cached, so
 * the next call tries again. `get` rejects with an Error whose message is one of the two above, or
 * empty if the script did not load.
 */
export function createStripeSource({ fetchKey, injectScript, log }: Dependencies) {
  let cached: Promise<Stripe> | null = null;

  async function load(): Promise<Stripe> {
    const answer = await fetchKey().catch(() => {
      throw new Error(KEY_FAILED);
    });
    const key = StripeKey.safeParse(answer);
    if (!key.success || !key.data.publishableKey) throw new Error(KEY_MISSING);
    const construct = await injectScript(key.data.scriptUrl).catch((error: Error) => {
      log(error.message);
      // The page says that the form did not load. An address means nothing to a buyer.
      throw new Error("");
    });
    return construct(key.data.publishableKey, { locale: "es" });
  }

  return {
    get(): Promise<Stripe> {
      cached ??= load().catch((error: Error) => {
        cached = null;
        if (error.message) log(error.message);
        throw error;
      });
      return cached;
    },
    clear(): void {
      cached = null;
    },
  };
}

/**
 * Report the state of loading Stripe until it is ready, retrying 3 s after each failure. The
 * returned function stops this.
 */
export function followStripe(
  source: { get(): Promise<Stripe> },
  onChange: (state: StripeState) => void,
): () => void {
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const attempt = () => {
    source.get().then(
      (stripe) => {
        if (!stopped) onChange({ status: "ready", stripe });
      },
      (error: Error) => {
        if (stopped) return;
        onChange({ status: "failed", message: error.message });
        timer = setTimeout(attempt, RETRY_AFTER_MS);
      },
    );
  };
  attempt();
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}

declare global {
  interface Window {
    Stripe?: StripeConstructor;
  }
}

function injectScript(url: string): Promise<StripeConstructor> {
  if (window.Stripe) return Promise.resolve(window.Stripe);
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = url;
    script.async = true;
    const fail = () => {
      script.remove();
      reject(new Error(`${url} did not load`));
    };
    script.onload = () => (window.Stripe ? resolve(window.Stripe) : fail());
    script.onerror = fail;
    document.head.append(script);
  });
}

export const stripeSource = createStripeSource({
  fetchKey: () => get("/api/get-stripe-public-key", z.unknown()),
  injectScript,
  log: (message) => console.warn(message),
});

/** The colours of the Payment Element, read from the page's design tokens. */
export function stripeAppearance(): Appearance {
  const style = getComputedStyle(document.documentElement);
  const token = (name: string, fallback: string) => style.getPropertyValue(name).trim() || fallback;
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  return {
    theme: dark ? "night" : "stripe",
    variables: {
      colorPrimary: token("--color-accent", "#0f5c4d"),
      colorBackground: token("--color-surface", dark ? "#1f1b18" : "#ffffff"),
      colorText: token("--color-text", dark ? "#f3eee8" : "#2a2420"),
      colorDanger: token("--color-danger", "#b3261e"),
      fontFamily: "Figtree Variable, Figtree, system-ui, sans-serif",
      fontSizeBase: "16px",
      borderRadius: token("--radius-m", "10px"),
    },
  };
}

/**
 * Stripe.js, loaded by hand: stripe-js's own loader knows only Stripe's address, and the local
 * stand-in has another one (architecture, "Traps").
 */
import type { Appearance, Stripe, StripeConstructor } from "@stripe/stripe-js";
import * as z from "zod/mini";
import { StripeKey } from "../schemas/payments";
import { get } from "./api";

export const RETRY_AFTER_MS = 3000;
export const KEY_FAILED = "Failed to get Stripe public key";
export const KEY_MISSING = "No publishable key received from server";

export type StripeState =
  | { status: "loading" }
  | { status: "ready"; stripe: Stripe }
  | { status: "failed"; message: string };

type Outside = {
  fetchKey(): Promise<unknown>;
  injectScript(url: string): Promise<StripeConstructor>;
  log(message: string): void;
};

/**
 * Fetches the key once and keeps Stripe from then on; a failure is forgotten, so that the next
 * call tries again. Rejects with an Error whose message is the specification's (section 8).
 */
export function createStripeSource({ fetchKey, injectScript, log }: Outside) {
  let kept: Promise<Stripe> | null = null;

  async function load(): Promise<Stripe> {
    const answer = await fetchKey().catch(() => {
      throw new Error(KEY_FAILED);
    });
    const key = StripeKey.safeParse(answer);
    if (!key.success || !key.data.publishableKey) throw new Error(KEY_MISSING);
    const construct = await injectScript(key.data.scriptUrl);
    return construct(key.data.publishableKey, { locale: "es" });
  }

  return {
    get(): Promise<Stripe> {
      kept ??= load().catch((error: Error) => {
        kept = null;
        log(error.message);
        throw error;
      });
      return kept;
    },
    clear(): void {
      kept = null;
    },
  };
}

/**
 * Follow a source until it is ready: after each failure it is asked again 3 s later. The
 * returned function stops that.
 */
export function followStripe(
  source: { get(): Promise<Stripe> },
  tell: (state: StripeState) => void,
): () => void {
  let stopped = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const attempt = () => {
    source.get().then(
      (stripe) => {
        if (!stopped) tell({ status: "ready", stripe });
      },
      (error: Error) => {
        if (stopped) return;
        tell({ status: "failed", message: error.message });
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

/** The Payment Element in the colours of the page, read from the design tokens. */
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

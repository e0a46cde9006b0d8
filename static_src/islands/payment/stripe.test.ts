import type { Stripe, StripeConstructor } from "@stripe/stripe-js";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createStripeSource, followStripe, type StripeState } from "./stripe";

const STRIPE = {} as Stripe;
const KEY = { publishableKey: "pk_test_1", scriptUrl: "http://127.0.0.1:9/v3/stripe.js" };

function source(fetchKey: () => Promise<unknown>) {
  const construct = vi.fn(() => STRIPE);
  const injectScript = vi.fn(async () => construct as unknown as StripeConstructor);
  const log = vi.fn();
  return { ...createStripeSource({ fetchKey, injectScript, log }), construct, injectScript, log };
}

describe("the publishable key", () => {
  it("is fetched once and cached; Stripe.js loads from the server's address, in Spanish", async () => {
    const fetchKey = vi.fn(async () => KEY);
    const stripe = source(fetchKey);
    expect(await stripe.get()).toBe(STRIPE);
    expect(await stripe.get()).toBe(STRIPE);
    expect(fetchKey).toHaveBeenCalledTimes(1);
    expect(stripe.injectScript).toHaveBeenCalledExactlyOnceWith(KEY.scriptUrl);
    expect(stripe.construct).toHaveBeenCalledExactlyOnceWith("pk_test_1", { locale: "es" });
  });

  it("is fetched again after the cache was cleared", async () => {
    const fetchKey = vi.fn(async () => KEY);
    const stripe = source(fetchKey);
    await stripe.get();
    stripe.clear();
    await stripe.get();
    expect(fetchKey).toHaveBeenCalledTimes(2);
  });

  it("rejects with a message when it can't be fetched, and the failure is not cached", async () => {
    const fetchKey = vi.fn(async () => KEY).mockRejectedValueOnce(new Error("offline"));
    const stripe = source(fetchKey);
    await expect(stripe.get()).rejects.toThrow("Failed to get Stripe public key");
    expect(stripe.log).toHaveBeenCalledExactlyOnceWith("Failed to get Stripe public key");
    expect(await stripe.get()).toBe(STRIPE);
  });

  it("is of no use without its script, whose address is logged but is no part of the message", async () => {
    const stripe = source(async () => KEY);
    stripe.injectScript.mockRejectedValueOnce(new Error(`${KEY.scriptUrl} did not load`));
    await expect(stripe.get()).rejects.toThrow(/^$/);
    expect(stripe.log).toHaveBeenCalledExactlyOnceWith(`${KEY.scriptUrl} did not load`);
  });

  it.each([{}, { ...KEY, publishableKey: "" }, null])(
    "is reported as missing when the response is %j",
    async (answer) => {
      const stripe = source(async () => answer);
      await expect(stripe.get()).rejects.toThrow("No publishable key received from server");
      expect(stripe.injectScript).not.toHaveBeenCalled();
    },
  );
});

describe("followStripe", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it("retries 3 s after each failure until Stripe is ready", async () => {
    const get = vi
      .fn(async () => STRIPE)
      .mockRejectedValueOnce(new Error("one"))
      .mockRejectedValueOnce(new Error("two"));
    const states: StripeState[] = [];
    followStripe({ get }, (state) => states.push(state));

    await vi.advanceTimersByTimeAsync(2999);
    expect(states).toEqual([{ status: "failed", message: "one" }]);
    await vi.advanceTimersByTimeAsync(1);
    expect(states).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(3000);
    expect(states.at(-1)).toEqual({ status: "ready", stripe: STRIPE });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(get).toHaveBeenCalledTimes(3);
  });

  it("stops retrying once it is stopped", async () => {
    const get = vi.fn(async (): Promise<Stripe> => {
      throw new Error("away");
    });
    const tell = vi.fn();
    const stop = followStripe({ get }, tell);
    stop();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(get).toHaveBeenCalledTimes(1);
    expect(tell).not.toHaveBeenCalled();
  });
});

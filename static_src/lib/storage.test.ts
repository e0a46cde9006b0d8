import { afterEach, describe, expect, it, vi } from "vitest";
import { cancelUrl, forgetPayment, rememberPayment } from "../islands/payment/pending";
import { stored } from "./storage";

afterEach(() => vi.unstubAllGlobals());

function withWindow(sessionStorage: () => unknown) {
  const window = Object.defineProperty({}, "sessionStorage", { get: sessionStorage });
  vi.stubGlobal("window", window);
}

describe("a tab's storage", () => {
  it("gives what was asked of it", () => {
    withWindow(() => ({ getItem: (key: string) => `kept as ${key}` }));
    expect(stored((storage) => storage.getItem("toast"))).toBe("kept as toast");
  });

  it("is nothing, rather than an error, where the browser blocks it", () => {
    withWindow(() => {
      throw new DOMException("Access is denied for this document.", "SecurityError");
    });
    expect(stored((storage) => storage.getItem("toast"))).toBeNull();
    expect(() => rememberPayment("pi_1", { orderId: 1, token: "t" })).not.toThrow();
    expect(() => forgetPayment()).not.toThrow();
    expect(cancelUrl("pi_1")).toBe("/cancel");
  });

  it("leads a payment that came to nothing back to its cart, and no other", () => {
    const kept = new Map<string, string>();
    withWindow(() => ({
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => kept.set(key, value),
    }));
    rememberPayment("cs_1", { orderId: 12, token: "a&b" });
    for (const known of ["cs_1", "12"]) {
      expect(cancelUrl(known)).toBe("/cancel?order=12&token=a%26b");
    }
    expect(cancelUrl("cs_2")).toBe("/cancel");
    expect(cancelUrl("1")).toBe("/cancel");
  });
});

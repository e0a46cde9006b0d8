import { afterEach, describe, expect, it, vi } from "vitest";
import {
  cancelUrl,
  forgetPayment,
  rememberPayment,
  rememberRefusal,
  takeRefusal,
} from "./pendingPayment";

afterEach(() => vi.unstubAllGlobals());

function withWindow(sessionStorage: () => unknown) {
  const window = Object.defineProperty({}, "sessionStorage", { get: sessionStorage });
  vi.stubGlobal("window", window);
}

describe("the pending payment of a tab", () => {
  it("is not needed: without storage the cancel page is opened without an order", () => {
    withWindow(() => {
      throw new DOMException("Access is denied for this document.", "SecurityError");
    });
    expect(() => rememberPayment("pi_1", { orderId: 1, token: "t" })).not.toThrow();
    expect(() => forgetPayment()).not.toThrow();
    expect(cancelUrl("pi_1")).toBe("/cancel");
  });

  it("adds the saved order to the cancel page's address, for this payment or order only", () => {
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

  it("keeps why a payment was refused for the page of its order, which shows it once", () => {
    const kept = new Map<string, string>();
    withWindow(() => ({
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => kept.set(key, value),
    }));
    rememberRefusal("Sin pago.");
    expect(takeRefusal(12)).toBe("");
    rememberPayment("pi_1", { orderId: 12, token: "t" });
    rememberRefusal("Sin pago.");
    expect(takeRefusal(13)).toBe("");
    expect(takeRefusal(12)).toBe("Sin pago.");
    expect(takeRefusal(12)).toBe("");
    expect(cancelUrl("pi_1")).toBe("/cancel?order=12&token=t");
  });
});

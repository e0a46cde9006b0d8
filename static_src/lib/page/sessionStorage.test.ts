import { afterEach, describe, expect, it, vi } from "vitest";
import { trySessionStorage } from "./sessionStorage";

afterEach(() => vi.unstubAllGlobals());

function withWindow(sessionStorage: () => unknown) {
  const window = Object.defineProperty({}, "sessionStorage", { get: sessionStorage });
  vi.stubGlobal("window", window);
}

describe("trySessionStorage", () => {
  it("returns the result of the access", () => {
    withWindow(() => ({ getItem: (key: string) => `kept as ${key}` }));
    expect(trySessionStorage((storage) => storage.getItem("toast"))).toBe("kept as toast");
  });

  it("returns null instead of throwing where the browser blocks site data", () => {
    withWindow(() => {
      throw new DOMException("Access is denied for this document.", "SecurityError");
    });
    expect(trySessionStorage((storage) => storage.getItem("toast"))).toBeNull();
  });
});

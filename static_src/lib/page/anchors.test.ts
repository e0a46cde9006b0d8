import { describe, expect, test } from "vitest";
import { scrollDelay } from "./anchors";

describe("scroll delay of a page opened with a #target", () => {
  test.each(["#contacto", "#presupuesto", "#calculadora", "#descuentos"])(
    "is 300 ms for %s after following a link of another page",
    (hash) => expect(scrollDelay(hash, true)).toBe(300),
  );

  test("is 200 ms for any other target", () => {
    expect(scrollDelay("#faq", true)).toBe(200);
    expect(scrollDelay("#testimonios", false)).toBe(200);
  });

  test("is 200 ms for every target when the address was typed", () => {
    expect(scrollDelay("#contacto", false)).toBe(200);
  });
});

import { describe, expect, test } from "vitest";
import { scrollDelay } from "./anchors";

describe("a page that was opened with a target", () => {
  test.each(["#contacto", "#presupuesto", "#calculadora", "#descuentos"])(
    "scrolls 300 ms after a link of another page has led to %s",
    (hash) => expect(scrollDelay(hash, true)).toBe(300),
  );

  test("scrolls to any other target after 200 ms", () => {
    expect(scrollDelay("#faq", true)).toBe(200);
    expect(scrollDelay("#testimonios", false)).toBe(200);
  });

  test("scrolls after 200 ms where its address was typed, whatever the target", () => {
    expect(scrollDelay("#contacto", false)).toBe(200);
  });
});

import { expect, it } from "vitest";
import { instalmentAmounts } from "./PaymentTypeField";

it("names a first instalment that is different", () => {
  const text = (...amounts: [number, number, number]) =>
    instalmentAmounts(...amounts).replaceAll("\u00a0", " ");
  expect(text(3, 9_034, 9_033)).toBe("90,34 € + 2 × 90,33 €");
  expect(text(3, 9_000, 9_000)).toBe("3 × 90,00 €");
});

import { expect, it } from "vitest";
import golden from "../../../apps/pricing/golden_cases.json";
import { formatEuros, halfUp, toCents } from "./money";

it.each(golden.money)("formats $cents cents as the server does", ({ cents, text }) => {
  expect(formatEuros(cents)).toBe(text);
});

it.each(golden.money)("converts the API's number for $cents cents", ({ cents, json }) => {
  expect(toCents(json)).toBe(cents);
});

it.each(golden.half_up)(
  "rounds %i/%i half up to %i",
  (numerator = 0, denominator = 1, expected) => {
    expect(halfUp(numerator, denominator)).toBe(expected);
  },
);

it("converts every amount up to 1,000 euros from JSON without losing a cent", () => {
  const lost = Array.from({ length: 100_000 }, (_, cents) => cents).filter(
    (cents) => toCents(JSON.parse((cents / 100).toFixed(2))) !== cents,
  );
  expect(lost).toStrictEqual([]);
});

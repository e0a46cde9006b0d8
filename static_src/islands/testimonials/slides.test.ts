import { describe, expect, test } from "vitest";
import { nextSlide, slideAt } from "./slides";

const sixSlides = { count: 6, step: 400, position: 0 };

test("the current slide is the one nearest to the left edge", () => {
  expect(slideAt({ ...sixSlides, width: 400, position: 790 })).toBe(2);
});

describe.each([
  { inView: 1, last: 5 },
  { inView: 2, last: 4 },
  { inView: 3, last: 3 },
])("with $inView slides in view", ({ inView, last }) => {
  const geometry = { ...sixSlides, width: inView * 400 - 16 };

  test("next and previous move by one slide", () => {
    expect(nextSlide(0, 1, geometry)).toBe(1);
    expect(nextSlide(2, -1, geometry)).toBe(1);
  });

  test("the carousel loops in both directions", () => {
    expect(nextSlide(last, 1, geometry)).toBe(0);
    expect(nextSlide(0, -1, geometry)).toBe(last);
  });
});

test("slides that all fit in the view do not move", () => {
  expect(nextSlide(0, 1, { count: 2, step: 400, width: 1184, position: 0 })).toBe(0);
});

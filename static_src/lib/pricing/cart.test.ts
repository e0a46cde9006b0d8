import { describe, expect, it } from "vitest";
import { CatalogueSubject } from "../../schemas/catalogue";
import {
  type CartLine,
  countLines,
  dearLessonsCents,
  isComplete,
  isTicked,
  removeLesson,
  removeSubject,
  toCheckoutItems,
  toggleAll,
  toggleLesson,
  toPricedItems,
  withoutUnavailable,
} from "./cart";

function subjectOf(id: number, statuses: ("active" | "expired")[]): CatalogueSubject {
  return CatalogueSubject.parse({
    id,
    name: `Asignatura ${id}`,
    final_price: 192.5,
    total_discounts: 0,
    enrolled_students_count: 12,
    contents: "2 PECs",
    complete_only: false,
    degree: { id: 1, name: "Economía", university: { id: 1, name: "Abierta", acronym: "UA" } },
    lessons: statuses.map((status, index) => ({
      id: id * 10 + index + 1,
      title: `PEC ${index + 1}`,
      subject_id: id,
      price: 55.1,
      status,
    })),
  });
}

const micro = subjectOf(1, ["active", "active", "expired", "active"]);
const macro = subjectOf(2, ["active", "active"]);
const ids = (cart: CartLine[]) => cart.map((line) => [line.subject.id, line.lessonIds]);

it("knows when single lessons cost as much as the complete subject, or more", () => {
  const line = (finalPriceCents: number, lessonIds: number[]) => ({
    subject: { ...micro, finalPriceCents },
    lessonIds,
  });
  expect(dearLessonsCents(line(11_021, [11, 12]))).toBeNull();
  expect(dearLessonsCents(line(11_020, [11, 12]))).toBe(11_020);
  expect(dearLessonsCents(line(9000, [11, 12]))).toBe(11_020);
  expect(dearLessonsCents(line(9000, []))).toBeNull();
});

describe("ticking lessons", () => {
  it("puts single lessons into one line of their subject", () => {
    const cart = toggleLesson(toggleLesson([], micro, 11), micro, 14);
    expect(ids(cart)).toEqual([[1, [11, 14]]]);
  });

  it("does not make a subject complete when every lesson is ticked one by one", () => {
    const cart = toggleLesson(toggleLesson([], macro, 21), macro, 22);
    expect(ids(cart)).toEqual([[2, [21, 22]]]);
    expect(cart.map(isComplete)).toEqual([false]);
  });

  it("removes the line with its last lesson, because an empty line would mean complete", () => {
    expect(toggleLesson(toggleLesson([], micro, 11), micro, 11)).toEqual([]);
  });

  it("ignores expired lessons and lessons of another subject", () => {
    expect(toggleLesson([], micro, 13)).toEqual([]);
    expect(toggleLesson([], micro, 21)).toEqual([]);
  });
});

describe("a refusal of the server", () => {
  const active = (subject: CatalogueSubject) => subject.lessons.map((lesson) => lesson.active);

  it("takes the named lesson off sale", () => {
    const refused = [{ subjectId: 1, lessonId: 12 }];
    expect(active(withoutUnavailable(micro, refused))).toEqual([true, false, false, true]);
    expect(active(withoutUnavailable(macro, refused))).toEqual([true, true]);
  });

  it("takes every lesson off sale if the whole subject cannot be bought", () => {
    const refused = [{ subjectId: 2, lessonId: null }];
    expect(active(withoutUnavailable(macro, refused))).toEqual([false, false]);
  });
});

describe("select all", () => {
  it("makes the subject complete and ticks its active lessons only", () => {
    const cart = toggleAll([], micro);
    expect(ids(cart)).toEqual([[1, []]]);
    expect(micro.lessons.map((lesson) => isTicked(cart, lesson))).toEqual([
      true,
      true,
      false,
      true,
    ]);
  });

  it("deselects them on the second click", () => {
    expect(toggleAll(toggleAll([], micro), micro)).toEqual([]);
  });

  it("replaces single lessons of the subject, in the same position of the cart", () => {
    const cart = toggleAll(toggleAll(toggleLesson([], micro, 11), macro), micro);
    expect(ids(cart)).toEqual([
      [1, []],
      [2, []],
    ]);
  });

  it("does nothing for a subject without active lessons", () => {
    expect(toggleAll([], subjectOf(3, ["expired"]))).toEqual([]);
  });
});

describe("a complete subject", () => {
  it("becomes its other active lessons when one lesson is unticked", () => {
    expect(ids(toggleLesson(toggleAll([], micro), micro, 12))).toEqual([[1, [11, 14]]]);
    expect(ids(removeLesson(toggleAll([], micro), 1, 12))).toEqual([[1, [11, 14]]]);
  });

  it("does not become complete again when that lesson is ticked again", () => {
    const cart = toggleLesson(toggleLesson(toggleAll([], micro), micro, 12), micro, 12);
    expect(ids(cart)).toEqual([[1, [11, 14, 12]]]);
  });
});

describe("removing", () => {
  const cart = toggleLesson(toggleAll([], macro), micro, 11);

  it("removes a lesson, and ignores a lesson that is not in the cart", () => {
    expect(ids(removeLesson(cart, 1, 11))).toEqual([[2, []]]);
    expect(ids(removeLesson(cart, 1, 12))).toEqual(ids(cart));
    expect(ids(removeLesson(cart, 2, 13))).toEqual(ids(cart));
  });

  it("removes a subject with all of its lessons", () => {
    expect(ids(removeSubject(cart, 2))).toEqual([[1, [11]]]);
  });

  it("does not change the cart that was passed in", () => {
    removeSubject(cart, 2);
    toggleLesson(cart, micro, 12);
    expect(ids(cart)).toEqual([
      [2, []],
      [1, [11]],
    ]);
  });
});

describe("conversions of the cart", () => {
  const cart = toggleLesson(toggleLesson(toggleAll([], macro), micro, 14), micro, 11);

  it("counts order lines: one for a complete subject, one for each lesson", () => {
    expect(countLines(cart)).toBe(3);
    expect(countLines([])).toBe(0);
  });

  it("lists the priced items in the order shown, in cents", () => {
    expect(toPricedItems(cart)).toEqual([
      { priceCents: 19250, complete: true, subjectId: 2, degreeId: 1 },
      { priceCents: 5510, complete: false, subjectId: 1, degreeId: 1 },
      { priceCents: 5510, complete: false, subjectId: 1, degreeId: 1 },
    ]);
  });

  it("builds the items of process-checkout, in euros", () => {
    expect(toCheckoutItems(cart)).toEqual([
      { subject_id: 2, lesson_ids: [], subject_price: 192.5, lesson_prices: [] },
      { subject_id: 1, lesson_ids: [11, 14], subject_price: null, lesson_prices: [55.1, 55.1] },
    ]);
  });
});

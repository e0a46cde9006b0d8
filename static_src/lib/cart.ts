/**
 * The cart, as pure functions on its lines (shop spec, sections 2 and 3).
 *
 * A line without lesson ids is the whole subject ("complete"): select-all sets that, and removing
 * one lesson ends it. Ticking every lesson by hand does not make a subject complete.
 */
import type { CatalogueLesson, CatalogueSubject } from "../schemas/catalogue";
import type { Item } from "./quote";

export type CartLine = { subject: CatalogueSubject; lessonIds: number[] };
export type Cart = readonly CartLine[];

/** One item of process-checkout's `items` (api.md), in euros. */
export type CheckoutItem = {
  subject_id: number;
  lesson_ids: number[];
  subject_price: number | null;
  lesson_prices: number[];
};

export const isComplete = (line: CartLine): boolean => line.lessonIds.length === 0;

export function activeLessons(subject: CatalogueSubject): CatalogueLesson[] {
  return subject.lessons.filter((lesson) => lesson.active);
}

/** The single lessons of a line, in the subject's order; none for a complete subject. */
export function chosenLessons(line: CartLine): CatalogueLesson[] {
  return line.subject.lessons.filter((lesson) => line.lessonIds.includes(lesson.id));
}

export function lineOf(cart: Cart, subjectId: number): CartLine | undefined {
  return cart.find((line) => line.subject.id === subjectId);
}

export function isTicked(cart: Cart, lesson: CatalogueLesson): boolean {
  const line = lineOf(cart, lesson.subjectId);
  return (
    line !== undefined && lesson.active && (isComplete(line) || line.lessonIds.includes(lesson.id))
  );
}

/** Tick or untick one lesson. Expired ones cannot be bought and change nothing. */
export function toggleLesson(cart: Cart, subject: CatalogueSubject, lessonId: number): CartLine[] {
  const active = activeLessons(subject).map((lesson) => lesson.id);
  if (!active.includes(lessonId)) return [...cart];
  const line = lineOf(cart, subject.id);
  if (!line) return [...cart, { subject, lessonIds: [lessonId] }];
  const ticked = isComplete(line) ? active : line.lessonIds;
  const lessonIds = ticked.includes(lessonId)
    ? ticked.filter((id) => id !== lessonId)
    : [...ticked, lessonId];
  return withLessons(cart, line, lessonIds);
}

/** Select all active lessons of the subject; a second time, deselect them. */
export function toggleAll(cart: Cart, subject: CatalogueSubject): CartLine[] {
  const line = lineOf(cart, subject.id);
  if (line && isComplete(line)) return removeSubject(cart, subject.id);
  if (activeLessons(subject).length === 0) return [...cart];
  const complete: CartLine = { subject, lessonIds: [] };
  return line ? cart.map((other) => (other === line ? complete : other)) : [...cart, complete];
}

export function removeLesson(cart: Cart, subjectId: number, lessonId: number): CartLine[] {
  const line = lineOf(cart, subjectId);
  return line && isTickedId(line, lessonId)
    ? toggleLesson(cart, line.subject, lessonId)
    : [...cart];
}

export function removeSubject(cart: Cart, subjectId: number): CartLine[] {
  return cart.filter((line) => line.subject.id !== subjectId);
}

/** What will be charged for: order lines, so a complete subject counts one and lessons one each. */
export function countLines(cart: Cart): number {
  return cart.reduce((total, line) => total + Math.max(1, line.lessonIds.length), 0);
}

/** The cart as `lib/quote.ts` prices it, one item per order line. */
export function toPricedItems(cart: Cart): Item[] {
  return cart.flatMap<Item>((line) =>
    isComplete(line)
      ? [{ priceCents: line.subject.finalPriceCents, complete: true }]
      : chosenLessons(line).map(({ priceCents }) => ({ priceCents, complete: false })),
  );
}

/** The cart as process-checkout takes it. */
export function toCheckoutItems(cart: Cart): CheckoutItem[] {
  return cart.map((line) => {
    const lessons = chosenLessons(line);
    return {
      subject_id: line.subject.id,
      lesson_ids: lessons.map((lesson) => lesson.id),
      subject_price: isComplete(line) ? line.subject.finalPriceCents / 100 : null,
      lesson_prices: lessons.map((lesson) => lesson.priceCents / 100),
    };
  });
}

function isTickedId(line: CartLine, lessonId: number): boolean {
  if (isComplete(line)) return activeLessons(line.subject).some(({ id }) => id === lessonId);
  return line.lessonIds.includes(lessonId);
}

function withLessons(cart: Cart, line: CartLine, lessonIds: number[]): CartLine[] {
  // An empty list would say "complete": a line without lessons leaves the cart instead.
  if (lessonIds.length === 0) return removeSubject(cart, line.subject.id);
  return cart.map((other) => (other === line ? { ...line, lessonIds } : other));
}

/**
 * The cart, as pure functions on its lines.
 *
 * A line without lesson ids is a complete subject. "Select all" makes a subject complete; removing
 * one of its lessons turns it into single lessons. Ticking every lesson one by one does not make a
 * subject complete.
 */
import type { CatalogueLesson, CatalogueSubject } from "../../schemas/catalogue";
import type { PricedItem } from "./quote";

export type CartLine = { subject: CatalogueSubject; lessonIds: number[] };
export type Cart = readonly CartLine[];

/** One of the `items` of process-checkout; prices in euros. */
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

/** The single lessons of a line, in the subject's order. Empty for a complete subject. */
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

/**
 * Tick or untick one lesson. Expired lessons cannot be bought: for them the cart stays as it is.
 */
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

/** Make the subject complete, or remove it when it is complete already. */
export function toggleAll(cart: Cart, subject: CatalogueSubject): CartLine[] {
  const line = lineOf(cart, subject.id);
  if (line && isComplete(line)) return removeSubject(cart, subject.id);
  if (activeLessons(subject).length === 0) return [...cart];
  const complete: CartLine = { subject, lessonIds: [] };
  return line ? cart.map((other) => (other === line ? complete : other)) : [...cart, complete];
}

/**
 * The single lessons of a line cost as much as the complete subject, or more. Returns their sum in
 * cents, or null if the lessons are cheaper or the subject is complete already.
 */
export function dearLessonsCents(line: CartLine): number | null {
  if (isComplete(line)) return null;
  const cents = chosenLessons(line).reduce((sum, { priceCents }) => sum + priceCents, 0);
  return cents >= line.subject.finalPriceCents ? cents : null;
}

export function removeLesson(cart: Cart, subjectId: number, lessonId: number): CartLine[] {
  const line = lineOf(cart, subjectId);
  return line && hasLesson(line, lessonId) ? toggleLesson(cart, line.subject, lessonId) : [...cart];
}

export function removeSubject(cart: Cart, subjectId: number): CartLine[] {
  return cart.filter((line) => line.subject.id !== subjectId);
}

/** The subject without what the server has refused to sell; all of it if `lessonId` is null. */
export function withoutUnavailable(
  subject: CatalogueSubject,
  items: readonly { subjectId: number; lessonId: number | null }[],
): CatalogueSubject {
  const refused = items.filter(({ subjectId }) => subjectId === subject.id);
  const lessons = subject.lessons.map((lesson) =>
    refused.some(({ lessonId }) => lessonId === null || lessonId === lesson.id)
      ? { ...lesson, active: false }
      : lesson,
  );
  return { ...subject, lessons };
}

/** The number of order lines: one for a complete subject, one for each single lesson. */
export function countLines(cart: Cart): number {
  return cart.reduce((total, line) => total + Math.max(1, line.lessonIds.length), 0);
}

/**
 * The cart as `lib/pricing/quote.ts` takes it: one item per order line. `paidCents` says what the
 * buyer has paid for lessons of a subject, by its id.
 */
export function toPricedItems(
  cart: Cart,
  paidCents: ReadonlyMap<number, number> = new Map(),
): PricedItem[] {
  return cart.flatMap<PricedItem>((line) =>
    isComplete(line)
      ? [
          {
            priceCents: line.subject.finalPriceCents,
            complete: true,
            subjectId: line.subject.id,
            degreeId: line.subject.degree.id,
            ...(paidCents.has(line.subject.id)
              ? { paidCents: paidCents.get(line.subject.id) as number }
              : {}),
          },
        ]
      : chosenLessons(line).map(({ priceCents }) => ({
          priceCents,
          complete: false,
          subjectId: line.subject.id,
          degreeId: line.subject.degree.id,
        })),
  );
}

/** The cart as process-checkout takes it; prices in euros. */
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

function hasLesson(line: CartLine, lessonId: number): boolean {
  if (isComplete(line)) return activeLessons(line.subject).some(({ id }) => id === lessonId);
  return line.lessonIds.includes(lessonId);
}

function withLessons(cart: Cart, line: CartLine, lessonIds: number[]): CartLine[] {
  // An empty list would mean "complete", so a line without lessons is removed.
  if (lessonIds.length === 0) return removeSubject(cart, line.subject.id);
  return cart.map((other) => (other === line ? { ...line, lessonIds } : other));
}

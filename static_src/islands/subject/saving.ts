/**
 * What the whole subject costs less than its lessons, as `apps/pages/subject_prices.py` says it, or
 * null if it does not cost less.
 */
export function savingInWords(
  wholeCents: number,
  lessonCents: readonly number[],
): { cents: number; words: string } | null {
  const singly = lessonCents.reduce((total, cents) => total + cents, 0);
  const cents = singly - wholeCents;
  if (cents <= 0) return null;
  const free = Math.floor(cents / Math.max(...lessonCents));
  if (free > 0) {
    return {
      cents,
      words: `Es como llevarte gratis ${free} de las ${lessonCents.length} lecciones.`,
    };
  }
  const percent = Math.floor((cents * 100) / singly);
  return { cents, words: percent > 0 ? `Es un ${percent} % menos.` : "" };
}

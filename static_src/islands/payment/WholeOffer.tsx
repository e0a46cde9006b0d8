import { type CartLine, dearLessonsCents } from "../../lib/pricing/cart";
import { formatEuros } from "../../lib/pricing/money";

type Props = { line: CartLine; disabled?: boolean; onTakeWhole(): void };

/**
 * Offers the complete subject when the single lessons in the cart cost as much, or more. Prices are
 * those without discounts: every discount applies to the complete subject at least as well.
 */
export function WholeOffer({ line, disabled = false, onTakeWhole }: Props) {
  const lessonsCents = dearLessonsCents(line);
  if (lessonsCents === null) return null;
  const { name, finalPriceCents } = line.subject;
  return (
    <div className="whole-offer" role="status">
      <p>
        {lessonsCents > finalPriceCents
          ? `Estas lecciones sueltas suman ${formatEuros(lessonsCents)}. La asignatura completa cuesta ${formatEuros(finalPriceCents)}.`
          : `Por ${formatEuros(finalPriceCents)}, lo mismo que estas lecciones, tienes la asignatura completa.`}
      </p>
      <button
        type="button"
        className="button button--quiet"
        aria-label={`Cambiar a la asignatura completa: ${name}`}
        disabled={disabled}
        onClick={onTakeWhole}
      >
        Cambiar a la asignatura completa
      </button>
    </div>
  );
}

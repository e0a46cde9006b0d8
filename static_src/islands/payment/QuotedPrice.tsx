import { NO_CODE_WITH_QUOTE } from "../../lib/bindingPrice";
import type { BindingQuote } from "../../lib/bindingQuote";

type Props = {
  bindingQuote: BindingQuote;
  disabled: boolean;
  onGiveUp(): void;
};

/** Shown instead of the promo field: the quote's price, and a button to use today's prices. */
export function QuotedPrice({ bindingQuote, disabled, onGiveUp }: Props) {
  return (
    <div className="notice">
      <p>
        El precio de tu presupuesto vale {bindingQuote.conditions}. {NO_CODE_WITH_QUOTE}
      </p>
      <button type="button" className="button button--plain" disabled={disabled} onClick={onGiveUp}>
        Usar los precios de hoy
      </button>
    </div>
  );
}

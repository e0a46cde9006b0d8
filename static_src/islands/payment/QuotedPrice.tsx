import { NO_CODE_ON_TOP } from "../../lib/bound";
import { formatEuros } from "../../lib/money";
import type { Offer } from "../../lib/offer";

type Props = {
  offer: Offer;
  /** What the cart would cost without the quote. */
  todayCents: number;
  disabled: boolean;
  onGiveUp(): void;
};

/** In the place of the promo field: the price that was promised, and the way to today's. */
export function QuotedPrice({ offer, todayCents, disabled, onGiveUp }: Props) {
  return (
    <div className="notice">
      <p>
        El precio de tu presupuesto vale {offer.conditions}. {NO_CODE_ON_TOP}
        {todayCents < offer.priceCents &&
          ` Hoy, sin tu presupuesto, esta compra cuesta ${formatEuros(todayCents)}.`}
      </p>
      <button type="button" className="button button--plain" disabled={disabled} onClick={onGiveUp}>
        Usar los precios de hoy
      </button>
    </div>
  );
}

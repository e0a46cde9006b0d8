import type { ReactNode } from "react";
import { CloseIcon } from "../../lib/icons";
import { formatEuros } from "../../lib/pricing/money";
import { vatSentence } from "../../lib/pricing/vatNote";
import type { PricedOrder } from "../../schemas/checkout";

type Props = {
  order: PricedOrder;
  /** The amount of today's payment. Shown only if it is less than the total. */
  dueNowCents: number;
  /** Where the cart can be changed. */
  onRemove?: ((line: PricedOrder["lines"][number]) => void) | undefined;
  /** Replaces the list of lines. */
  children?: ReactNode;
};

/** The lines of an order, its discounts and its total. */
export function OrderSummary({ order, dueNowCents, onRemove, children }: Props) {
  // The total is the list total minus all discounts (`lib/pricing/quote.ts`).
  const listTotalCents = order.discounts.reduce(
    (sum, { amountCents }) => sum + amountCents,
    order.totalCents,
  );
  return (
    <div className="order-summary">
      {children ?? (
        <ul className="order-summary__lines">
          {order.lines.map((line) => (
            <li key={`${line.subjectId}-${line.lessonId}`}>
              <span>
                {line.name}
                <small>
                  {line.lessonId === null ? "Asignatura completa" : "Lección individual"}
                </small>
              </span>
              <span className="price">{formatEuros(line.listPriceCents)}</span>
              {onRemove && (
                <button
                  type="button"
                  className="cart__remove"
                  aria-label={`Quitar ${line.name} del pedido`}
                  data-tooltip="Quitar"
                  onClick={({ detail }) => detail < 2 && onRemove(line)}
                >
                  <CloseIcon />
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      {order.quoteNotice && (
        <p className="notice notice--warning" role="status">
          {order.quoteNotice}
        </p>
      )}
      <dl className="order-summary__sums">
        {order.discounts.length > 0 && (
          <div>
            <dt>Subtotal</dt>
            <dd className="price">{formatEuros(listTotalCents)}</dd>
          </div>
        )}
        {order.discounts.map(({ name, amountCents }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className="price price--off">−{formatEuros(amountCents)}</dd>
          </div>
        ))}
        {/* A code, another way to pay or a removed line change it while the focus is elsewhere. */}
        <div className="order-summary__total" aria-live="polite" aria-atomic="true">
          <dt>
            Total <small>{vatSentence()}</small>
          </dt>
          <dd className="price">{formatEuros(order.totalCents)}</dd>
        </div>
        {dueNowCents < order.totalCents && (
          <div>
            <dt>Hoy pagas</dt>
            <dd className="price">{formatEuros(dueNowCents)}</dd>
          </div>
        )}
      </dl>
    </div>
  );
}

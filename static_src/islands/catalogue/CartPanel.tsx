import { memo, type ReactNode, useCallback, useEffect, useRef, useState } from "react";
import { CloseIcon } from "../../lib/icons";
import { toast } from "../../lib/page/toast";
import { cartPriceOptions } from "../../lib/pricing/bindingPrice";
import type { BindingQuote } from "../../lib/pricing/bindingQuote";
import {
  type Cart,
  type CartLine,
  chosenLessons,
  isComplete,
  removeLesson,
  removeSubject,
  toggleAll,
  toPricedItems,
} from "../../lib/pricing/cart";
import { instalmentsRefusal, splitInstalments } from "../../lib/pricing/instalments";
import { formatEuros } from "../../lib/pricing/money";
import { type CartLinePrice, quoteCart } from "../../lib/pricing/quote";
import type { Pricing } from "../../schemas/pricing";
import { WholeOffer } from "../payment/WholeOffer";

type Props = {
  cart: Cart;
  pricing: Pricing;
  /** The binding quote whose link was opened. */
  bindingQuote: BindingQuote | null;
  /** Why the quote's price does not bind any more. */
  quoteNotice: string | null;
  onChange: (cart: CartLine[]) => void;
  clearing: Clearing;
  /** Open the payment dialog. `busy` while its code is being loaded. */
  onPay(): void;
  busy: boolean;
};

/** Emptying the cart, and the way back: `undo` is null unless the cart has just been emptied. */
export type Clearing = { clear(): void; undo: (() => void) | null };

export function useClearing(cart: CartLine[], onChange: (cart: CartLine[]) => void): Clearing {
  const [cleared, setCleared] = useState<CartLine[] | null>(null);
  return {
    clear() {
      setCleared(cart);
      onChange([]);
      toast({
        title: "Carrito limpiado",
        text: "Se han eliminado todos los elementos del carrito",
        tone: "success",
      });
    },
    undo: cleared && cart.length === 0 ? () => onChange(cleared) : null,
  };
}

/** The cart beside or below the subjects. */
export function CartPanel(props: Props) {
  return (
    <aside className="cart card" aria-labelledby="carrito-titulo">
      <CartContents {...props} heading={<h2 id="carrito-titulo">Tu carrito</h2>} />
    </aside>
  );
}

/** The cart: its lines and its price with full payment. */
export function CartContents({ heading, ...props }: Props & { heading?: ReactNode }) {
  const { cart, clearing } = props;
  const box = useRef<HTMLDivElement>(null);
  // The pressed button disappears with its line, and the focus would be lost.
  const keepFocus = () => box.current?.focus({ preventScroll: true });

  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset is for the fields of a form.
    <div className="cart__contents" ref={box} tabIndex={-1} role="group" aria-label="Tu compra">
      <div className="cart__head">
        {heading}
        {cart.length > 0 && (
          <button
            type="button"
            className="button button--plain"
            onClick={() => {
              clearing.clear();
              keepFocus();
            }}
          >
            Vaciar carrito
          </button>
        )}
      </div>
      {cart.length === 0 ? (
        <>
          <p className="cart__empty">
            {clearing.undo
              ? "Has vaciado tu carrito."
              : "Aún está vacío. Marca las lecciones que necesites o selecciona una asignatura completa."}
          </p>
          {clearing.undo && (
            <button
              type="button"
              className="button button--quiet cart__undo"
              onClick={() => {
                clearing.undo?.();
                keepFocus();
              }}
            >
              Deshacer
            </button>
          )}
        </>
      ) : (
        <>
          <CartLines {...props} keepFocus={keepFocus} />
          <Totals {...props} />
          <button
            type="button"
            className="button button--large cart__pay"
            aria-haspopup="dialog"
            aria-busy={props.busy}
            onClick={props.onPay}
          >
            Ir a pagar
          </button>
        </>
      )}
    </div>
  );
}

type LinesProps = Pick<Props, "cart" | "pricing" | "onChange"> & { keepFocus(): void };

function CartLines({ cart, pricing, onChange, keepFocus }: LinesProps) {
  const latest = useRef({ cart, onChange, keepFocus });
  useEffect(() => {
    latest.current = { cart, onChange, keepFocus };
  });
  const onEdit = useCallback((edit: Edit) => {
    latest.current.onChange(edit(latest.current.cart));
    latest.current.keepFocus();
  }, []);

  return (
    <ul className="cart__lines">
      {cart.map((line) => (
        <CartItem key={line.subject.id} line={line} pricing={pricing} onEdit={onEdit} />
      ))}
    </ul>
  );
}

type Edit = (cart: Cart) => CartLine[];
type ItemProps = { line: CartLine; pricing: Pricing; onEdit(edit: Edit): void };

/** One subject of the cart. Memoised: a tick renders its own subject again, not a hundred rows. */
const CartItem = memo(({ line, pricing, onEdit }: ItemProps) => {
  const { id, name, degree } = line.subject;
  // One price for a complete subject, one for each single lesson. Other lines do not change them.
  const prices = quoteCart(pricing, toPricedItems([line]), FULL_PAYMENT).lines;

  return (
    <li className="cart__line">
      <div className="cart__row">
        <p>
          <strong>{name}</strong>
          <span className="cart__degree">{degree.name}</span>
        </p>
        {isComplete(line) && <LinePrice price={prices[0]} />}
        <RemoveButton
          label={`Quitar ${name} del carrito`}
          onRemove={() => onEdit((cart) => removeSubject(cart, id))}
        />
      </div>
      {isComplete(line) ? (
        <p>
          <span className="badge badge--accent">Asignatura completa</span>
        </p>
      ) : (
        <ul className="cart__lessons" aria-label={`Lecciones elegidas de ${name}`}>
          {chosenLessons(line).map((lesson, index) => (
            <li key={lesson.id} className="cart__row cart__row--lesson">
              <p>{lesson.title}</p>
              <LinePrice price={prices[index]} />
              <RemoveButton
                label={`Quitar ${lesson.title} de ${name}`}
                onRemove={() => onEdit((cart) => removeLesson(cart, id, lesson.id))}
              />
            </li>
          ))}
        </ul>
      )}
      <WholeOffer
        line={line}
        onTakeWhole={() => onEdit((cart) => toggleAll([...cart], line.subject))}
      />
    </li>
  );
});

function LinePrice({ price }: { price: CartLinePrice | undefined }) {
  if (!price) return null;
  return (
    <span className="cart__price">
      {price.listPriceCents > price.priceCents && (
        <s className="price price--list">
          <span className="visually-hidden">Antes: </span>
          {formatEuros(price.listPriceCents)}
        </s>
      )}
      <span className="price">{formatEuros(price.priceCents)}</span>
    </span>
  );
}

function RemoveButton({ label, onRemove }: { label: string; onRemove: () => void }) {
  return (
    <button
      type="button"
      className="cart__remove"
      aria-label={label}
      data-tooltip="Quitar"
      // A double click must not remove the next line, too, which moves under the pointer.
      onClick={({ detail }) => detail < 2 && onRemove()}
    >
      <CloseIcon />
    </button>
  );
}

function Totals({
  cart,
  pricing,
  bindingQuote,
  quoteNotice,
}: Pick<Props, "cart" | "pricing" | "bindingQuote" | "quoteNotice">) {
  const items = toPricedItems(cart);
  const terms = cartPriceOptions(pricing, bindingQuote, cart);
  const notice = terms.notice ?? quoteNotice;
  const quote = quoteCart(pricing, items, terms);
  const { instalments } = pricing;
  const { totalCents } = quoteCart(pricing, items, { paymentType: "installment", promo: null });
  const refusal = instalmentsRefusal(items, totalCents, instalments.minimumTotalCents);
  const [first, second] = splitInstalments(instalments, totalCents);
  return (
    <div className="cart__totals">
      <dl>
        {quote.discounts.length > 0 && (
          <div>
            <dt>Subtotal</dt>
            <dd className="price price--plain">{formatEuros(quote.listTotalCents)}</dd>
          </div>
        )}
        {quote.discounts.map(({ name, amountCents }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className="price price--off">−{formatEuros(amountCents)}</dd>
          </div>
        ))}
        <div className="cart__total">
          <dt>Total</dt>
          <dd className="price">{formatEuros(quote.totalCents)}</dd>
        </div>
      </dl>
      {notice && (
        <p className="notice notice--warning" role="status">
          {notice}
        </p>
      )}
      {bindingQuote && terms.bindingCents !== null && (
        <p>El precio de tu presupuesto vale {bindingQuote.conditions}.</p>
      )}
      {refusal === null && terms.bindingCents === null && (
        <p className="cart__instalments">
          {first === second
            ? `O en ${instalments.count} pagos de ${formatEuros(first)}, sin intereses.`
            : `O en ${instalments.count} pagos sin intereses: el primero de ${formatEuros(first)}, los demás de ${formatEuros(second ?? 0)}.`}
        </p>
      )}
    </div>
  );
}

/**
 * Until the buyer chooses a payment type, prices are those of full payment without a promo code.
 */
const FULL_PAYMENT = { paymentType: "full_payment", promo: null } as const;

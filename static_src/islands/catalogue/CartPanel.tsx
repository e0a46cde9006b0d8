import { cartTerms } from "../../lib/bound";
import {
  type Cart,
  type CartLine,
  chosenLessons,
  isComplete,
  removeLesson,
  removeSubject,
  toPricedItems,
} from "../../lib/cart";
import { CloseIcon } from "../../lib/icons";
import { formatEuros } from "../../lib/money";
import type { Offer } from "../../lib/offer";
import {
  instalmentsRefusal,
  type CartLine as PricedLine,
  quoteCart,
  splitInstalments,
} from "../../lib/quote";
import { toast } from "../../lib/toast";
import type { Pricing } from "../../schemas/pricing";

type Props = {
  cart: Cart;
  pricing: Pricing;
  /** The quote whose link was opened, while its price binds. */
  offer: Offer | null;
  /** Why it does not bind any more. */
  quoteNotice: string | null;
  onChange: (cart: CartLine[]) => void;
};

/** What is chosen and what it costs when paid at once, line by line. */
export function CartPanel({ cart, pricing, offer, quoteNotice, onChange }: Props) {
  const clear = () => {
    onChange([]);
    focusCart();
    toast({
      title: "Carrito limpiado",
      text: "Se han eliminado todos los elementos del carrito",
      tone: "success",
    });
  };

  return (
    <aside className="cart card" id="carrito" aria-labelledby="carrito-titulo" tabIndex={-1}>
      <div className="cart__head">
        <h2 id="carrito-titulo">Tu carrito</h2>
        {cart.length > 0 && (
          <button type="button" className="button button--plain" onClick={clear}>
            Vaciar carrito
          </button>
        )}
      </div>
      {cart.length === 0 ? (
        <p className="cart__empty">
          Aún está vacío. Marca las lecciones que necesites o selecciona una asignatura completa.
        </p>
      ) : (
        <>
          <CartLines cart={cart} pricing={pricing} onChange={onChange} />
          <Totals cart={cart} pricing={pricing} offer={offer} quoteNotice={quoteNotice} />
        </>
      )}
    </aside>
  );
}

/** The pressed button goes with its line: the focus stays in the cart, not at the page's top. */
function focusCart() {
  document.getElementById("carrito")?.focus({ preventScroll: true });
}

function CartLines({ cart, pricing, onChange }: Pick<Props, "cart" | "pricing" | "onChange">) {
  const prices = quoteCart(pricing, toPricedItems(cart), AT_ONCE).lines;
  let next = 0;
  // Prices come in the order of the cart: one for a complete subject, one per lesson.
  const takePrice = () => prices[next++];

  return (
    <ul className="cart__lines">
      {cart.map((line) => {
        const { id, name, degree } = line.subject;
        return (
          <li key={id} className="cart__line">
            <div className="cart__row">
              <p>
                <strong>{name}</strong>
                <span className="cart__degree">{degree.name}</span>
              </p>
              {isComplete(line) && <LinePrice price={takePrice()} />}
              <RemoveButton
                label={`Quitar ${name} del carrito`}
                onRemove={() => onChange(removeSubject(cart, id))}
              />
            </div>
            {isComplete(line) ? (
              <p>
                <span className="badge badge--accent">Asignatura completa</span>
              </p>
            ) : (
              <ul className="cart__lessons" aria-label={`Lecciones elegidas de ${name}`}>
                {chosenLessons(line).map((lesson) => (
                  <li key={lesson.id} className="cart__row cart__row--lesson">
                    <p>{lesson.title}</p>
                    <LinePrice price={takePrice()} />
                    <RemoveButton
                      label={`Quitar ${lesson.title} de ${name}`}
                      onRemove={() => onChange(removeLesson(cart, id, lesson.id))}
                    />
                  </li>
                ))}
              </ul>
            )}
          </li>
        );
      })}
    </ul>
  );
}

function LinePrice({ price }: { price: PricedLine | undefined }) {
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
      onClick={() => {
        onRemove();
        focusCart();
      }}
    >
      <CloseIcon />
    </button>
  );
}

function Totals({ cart, pricing, offer, quoteNotice }: Omit<Props, "onChange">) {
  const items = toPricedItems(cart);
  const terms = cartTerms(offer, cart);
  const notice = terms.notice ?? quoteNotice;
  const quote = quoteCart(pricing, items, terms);
  const inParts = quoteCart(pricing, items, { paymentType: "installment", promo: null });
  const refusal = instalmentsRefusal(pricing, items, inParts.totalCents);
  const [first, second] = splitInstalments(pricing, inParts.totalCents);
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
      {offer && terms.bindingCents !== null && (
        <p>El precio de tu presupuesto vale {offer.conditions}.</p>
      )}
      {refusal === null && terms.bindingCents === null && (
        <p className="cart__instalments">
          {first === second
            ? `O en ${pricing.instalments.count} pagos de ${formatEuros(first)}, sin intereses.`
            : `O en ${pricing.instalments.count} pagos sin intereses: el primero de ${formatEuros(first)}, los demás de ${formatEuros(second ?? 0)}.`}
        </p>
      )}
    </div>
  );
}

/** Nothing is said of the payment yet: totals are those of paying at once, without a code. */
const AT_ONCE = { paymentType: "full_payment", promo: null } as const;

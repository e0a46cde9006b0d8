import type { RefObject } from "react";
import { type CartLine, toCheckoutItems, toPricedItems } from "../../lib/cart";
import { Check } from "../../lib/fields";
import { formatEuros } from "../../lib/money";
import type { Offer } from "../../lib/offer";
import { dueNowCents, instalmentsRefusal } from "../../lib/quote";
import type { Academy } from "../../schemas/academy";
import type { UnavailableItem } from "../../schemas/payments";
import type { Pricing } from "../../schemas/pricing";
import { AlreadyBought } from "./AlreadyBought";
import { centsBeforePromo, isAtQuotedPrice, quotedOrder, withoutItems } from "./basket";
import type { CardHandle } from "./CardForm";
import type { Basket } from "./calls";
import { OrderSummary } from "./OrderSummary";
import { PaymentTypeField } from "./PaymentTypeField";
import { PayPanel } from "./PayPanel";
import { PromoField } from "./PromoField";
import { QuotedPrice } from "./QuotedPrice";
import { isBusy, type Purchase, type PurchaseEvent } from "./state";

type Props = {
  purchase: Purchase;
  dispatch(event: PurchaseEvent): void;
  card: RefObject<CardHandle | null>;
  cart: CartLine[];
  onCartChange(cart: CartLine[]): void;
  pricing: Pricing;
  academy: Academy;
  /** The quote whose link was opened. */
  offer: Offer | null;
  linkCode: RefObject<string>;
  onPay(basket: Basket): void;
  onPayAnyway(basket: Basket): void;
  onSave(basket: Basket): void;
  onRemind(basket: Basket, ticked: boolean): void;
};

/** Step 2: the order, the promo code and the payment type; beside them, the payment. */
export function SummaryStep({ purchase, dispatch, cart, pricing, academy, ...props }: Props) {
  const { paymentType, promo, quote, payment } = purchase;
  const busy = isBusy(purchase);
  const items = toCheckoutItems(cart);
  const quoted = (type: typeof paymentType) =>
    quotedOrder(pricing, cart, { paymentType: type, promo, quote }, props.offer);
  // The server's sums count as soon as there are any.
  const order = purchase.priced ?? quoted(paymentType);
  const basket: Basket = { items, totalCents: order.totalCents };
  const due =
    payment.phase === "card" || payment.phase === "confirming"
      ? payment.dueCents
      : dueNowCents(pricing, order.totalCents, paymentType);
  const totalOf = (type: typeof paymentType) =>
    (type === paymentType ? order : quoted(type)).totalCents;
  const instalmentsCents = totalOf("installment");
  const bound = quote !== null && isAtQuotedPrice(order) ? props.offer : null;

  return (
    <div className="purchase__columns">
      <div className="purchase__order">
        <section aria-labelledby="order-heading">
          <h3 className="purchase__heading" id="order-heading">
            Tu pedido
          </h3>
          <Changes
            purchase={purchase}
            totalCents={order.totalCents}
            onRemove={(gone) => props.onCartChange(withoutItems(cart, gone))}
            onBuyAgain={() => props.onPayAnyway(basket)}
          />
          {cart.length === 0 && <p>Tu carrito está vacío.</p>}
          <OrderSummary order={order} dueNowCents={due} />
        </section>
        {bound ? (
          <QuotedPrice
            offer={bound}
            todayCents={quotedOrder(pricing, cart, { paymentType, promo, quote: null }).totalCents}
            disabled={busy}
            onGiveUp={() => dispatch({ type: "quote_given_up" })}
          />
        ) : (
          <PromoField
            applied={promo}
            error={purchase.promoError}
            disabled={busy}
            cart={{ items, centsBeforePromo: centsBeforePromo(pricing, cart, purchase) }}
            paymentType={paymentType}
            email={purchase.contact.email}
            order={purchase.order}
            linkCode={props.linkCode}
            onApply={(applied) => dispatch({ type: "promo_applied", promo: applied })}
            onRefuse={(text) => dispatch({ type: "promo_refused", text })}
            onRemove={() => dispatch({ type: "promo_removed" })}
          />
        )}
        <PaymentTypeField
          pricing={pricing}
          chosen={paymentType}
          fullCents={totalOf("full_payment")}
          instalmentsCents={instalmentsCents}
          refusal={instalmentsRefusal(pricing, toPricedItems(cart), instalmentsCents)}
          disabled={busy}
          onChoose={(type) => dispatch({ type: "payment_type_chosen", paymentType: type })}
        />
      </div>
      <section className="purchase__pay" aria-labelledby="pay-heading">
        <h3 className="purchase__heading" id="pay-heading">
          Pago con tarjeta
        </h3>
        <PayPanel
          purchase={purchase}
          dispatch={dispatch}
          card={props.card}
          dueNowCents={due}
          academy={academy}
          payable={cart.length > 0}
          onPay={() => props.onPay(basket)}
        >
          <Check
            checked={purchase.boxes.reminders}
            disabled={busy}
            onChange={(ticked) => props.onRemind(basket, ticked)}
          >
            Avisadme si dejo mi compra a medias
          </Check>
        </PayPanel>
        <button
          type="button"
          className="button button--plain"
          aria-disabled={busy}
          disabled={cart.length === 0}
          onClick={() => props.onSave(basket)}
        >
          Guardar para más tarde
        </button>
      </section>
    </div>
  );
}

type ChangesProps = {
  purchase: Purchase;
  totalCents: number;
  onRemove(items: UnavailableItem[]): void;
  onBuyAgain(): void;
};

/** What the server found to be different from what was shown. */
function Changes({ purchase: { notice }, totalCents, onRemove, onBuyAgain }: ChangesProps) {
  if (notice?.kind === "already_bought") {
    return <AlreadyBought items={notice.items} onRemove={onRemove} onBuyAgain={onBuyAgain} />;
  }
  if (notice?.kind === "price_changed") {
    return (
      <div className="notice notice--warning" role="alert">
        <p>
          <strong>El precio ha cambiado.</strong> El total es ahora {formatEuros(totalCents)}.
          Revísalo y, si estás de acuerdo, pulsa otra vez «Pagar».
        </p>
      </div>
    );
  }
  if (notice?.kind === "unavailable") {
    return (
      <div className="notice notice--warning" role="alert">
        <p>
          <strong>Ya no se puede comprar:</strong>
        </p>
        <ul>
          {notice.items.map((item) => (
            <li key={`${item.subjectId}-${item.lessonId}`}>{item.name}</li>
          ))}
        </ul>
        <button
          type="button"
          className="button button--quiet"
          onClick={() => onRemove(notice.items)}
        >
          Quitar del carrito
        </button>
      </div>
    );
  }
  return null;
}

import { type RefObject, useRef } from "react";
import { Checkbox } from "../../lib/forms/fields";
import { NO_CODE_WITH_QUOTE } from "../../lib/pricing/bindingPrice";
import type { BindingQuote } from "../../lib/pricing/bindingQuote";
import { type CartLine, toCheckoutItems, toggleAll, toPricedItems } from "../../lib/pricing/cart";
import { dueNowCents } from "../../lib/pricing/instalments";
import type { Academy } from "../../schemas/academy";
import type { UnavailableItem } from "../../schemas/checkout";
import type { Pricing } from "../../schemas/pricing";
import type { CardHandle } from "./CardForm";
import type { CheckoutCart } from "./checkoutApi";
import { giftDay } from "./gift";
import { OrderSummary } from "./OrderSummary";
import {
  centsBeforePromo,
  estimateOrder,
  instalmentMinimum,
  isAtQuotedPrice,
  withoutItems,
} from "./orderEstimate";
import { OtherPayments, PaymentTypeField } from "./PaymentTypeField";
import { needsNoCard, PayPanel } from "./PayPanel";
import { PromoField } from "./PromoField";
import { ServerNotice } from "./ServerNotice";
import { isBusy, type Purchase, type PurchaseEvent } from "./state";
import type { WalletPayment } from "./Wallets";
import { WholeOffer } from "./WholeOffer";
import { waysToPay } from "./waysToPay";

type Props = {
  purchase: Purchase;
  dispatch(event: PurchaseEvent): void;
  card: RefObject<CardHandle | null>;
  cart: CartLine[];
  onCartChange(cart: CartLine[]): void;
  pricing: Pricing;
  academy: Academy;
  /** The binding quote whose link was opened. */
  bindingQuote: BindingQuote | null;
  linkCode: RefObject<string>;
  onChangeEmail(): void;
  onGift(): void;
  onPay(checkoutCart: CheckoutCart): void;
  onWallet(checkoutCart: CheckoutCart, payment: WalletPayment): void;
  onBuyAgain(checkoutCart: CheckoutCart): void;
  onTransfer(checkoutCart: CheckoutCart): void;
  onSave(checkoutCart: CheckoutCart): void;
  onRemindersChange(checkoutCart: CheckoutCart, ticked: boolean): void;
};

/** Step 2 of the payment dialog: order, promo code, payment type, and the payment itself. */
export function SummaryStep({ purchase, dispatch, cart, pricing, academy, ...props }: Props) {
  const { paymentType, promo, quote, payment } = purchase;
  const busy = isBusy(purchase);
  const items = toCheckoutItems(cart);
  const estimate = (type: typeof paymentType) =>
    estimateOrder(pricing, cart, { ...purchase, paymentType: type }, props.bindingQuote);
  // Show the server's prices once the server has priced the order.
  const order = purchase.priced ?? estimate(paymentType);
  const checkoutCart: CheckoutCart = {
    items,
    totalCents: order.totalCents,
    plan: pricing.instalments,
  };
  const due =
    payment.phase === "card" || payment.phase === "confirming"
      ? payment.dueCents
      : dueNowCents(pricing.instalments, order.totalCents, paymentType);
  const totalOf = (type: typeof paymentType) =>
    (type === paymentType ? order : estimate(type)).totalCents;
  const appliedQuote = quote !== null && isAtQuotedPrice(order) ? props.bindingQuote : null;

  const orderHeading = useRef<HTMLHeadingElement>(null);
  function remove(item: UnavailableItem) {
    // The pressed button disappears with its line.
    orderHeading.current?.focus();
    props.onCartChange(withoutItems(cart, [item]));
  }

  return (
    <div className="purchase__columns">
      <div className="purchase__order">
        <section aria-labelledby="order-heading">
          <h3 className="purchase__heading" id="order-heading" ref={orderHeading} tabIndex={-1}>
            Tu pedido
          </h3>
          <ServerNotice
            purchase={purchase}
            totalCents={order.totalCents}
            onRemove={(items) => props.onCartChange(withoutItems(cart, items))}
            onBuyAgain={() => props.onBuyAgain(checkoutCart)}
            onAcceptPrice={() => dispatch({ type: "price_accepted" })}
          />
          {cart.length === 0 && <p>Tu carrito está vacío.</p>}
          <OrderSummary order={order} dueNowCents={due} onRemove={busy ? undefined : remove} />
          {cart.map((line) => (
            <WholeOffer
              key={line.subject.id}
              line={line}
              disabled={busy}
              onTakeWhole={() => {
                orderHeading.current?.focus();
                props.onCartChange(toggleAll(cart, line.subject));
              }}
            />
          ))}
        </section>
        {appliedQuote ? (
          <QuotedPrice
            bindingQuote={appliedQuote}
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
          instalmentsCents={totalOf("installment")}
          items={toPricedItems(cart)}
          minimumCents={instalmentMinimum(pricing, cart, purchase, props.bindingQuote)}
          disabled={busy}
          onChoose={(type) => dispatch({ type: "payment_type_chosen", paymentType: type })}
        />
        <OtherPayments academy={academy} />
      </div>
      <section className="purchase__pay" aria-labelledby="pay-heading">
        <h3 className="purchase__heading" id="pay-heading">
          {needsNoCard(due) ? "Confirmar el pedido" : `Pago con ${waysToPay(academy, paymentType)}`}
        </h3>
        <p className="purchase__email">
          <span>
            {purchase.gift ? "La confirmación" : "El acceso"} llegará a{" "}
            <strong>{purchase.contact.email}</strong>
          </span>
          <button
            type="button"
            className="button button--plain"
            disabled={busy}
            onClick={props.onChangeEmail}
          >
            Cambiar<span className="visually-hidden"> el email</span>
          </button>
        </p>
        <p className="purchase__email">
          {purchase.gift && (
            <span>
              Regalo para <strong>{purchase.gift.email}</strong>, el{" "}
              {giftDay(purchase.gift.deliver_on)}
              {needsNoCard(due) && ". Como no cuesta nada, va sin tu nombre ni tu mensaje"}
            </span>
          )}
          <button
            type="button"
            className="button button--plain"
            disabled={busy}
            onClick={props.onGift}
          >
            {purchase.gift ? (
              <>
                Cambiar<span className="visually-hidden"> el regalo</span>
              </>
            ) : (
              "Es un regalo"
            )}
          </button>
        </p>
        <PayPanel
          purchase={purchase}
          dispatch={dispatch}
          card={props.card}
          dueNowCents={due}
          academy={academy}
          payable={cart.length > 0}
          onPay={() => props.onPay(checkoutCart)}
          onWallet={(wallet) => props.onWallet(checkoutCart, wallet)}
          onTransfer={() => props.onTransfer(checkoutCart)}
        >
          <Checkbox
            checked={purchase.boxes.reminders}
            disabled={busy}
            onChange={(ticked) => props.onRemindersChange(checkoutCart, ticked)}
          >
            Avisadme si dejo mi compra a medias
          </Checkbox>
        </PayPanel>
        <button
          type="button"
          className="button button--plain"
          aria-disabled={busy}
          disabled={cart.length === 0}
          onClick={() => props.onSave(checkoutCart)}
        >
          Guardar para más tarde
        </button>
      </section>
    </div>
  );
}

type QuotedPriceProps = {
  bindingQuote: BindingQuote;
  disabled: boolean;
  onGiveUp(): void;
};

/** Shown instead of the promo field: the quote's price, and a button to use today's prices. */
function QuotedPrice({ bindingQuote, disabled, onGiveUp }: QuotedPriceProps) {
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

import { useEffect, useRef, useState } from "react";
import { formatDay } from "../../lib/dates";
import { toast, toastOnNextPage } from "../../lib/page/toast";
import { NO_CODE_WITH_QUOTE } from "../../lib/pricing/bindingPrice";
import { dueNowCents } from "../../lib/pricing/instalments";
import { formatEuros } from "../../lib/pricing/money";
import type { Academy } from "../../schemas/academy";
import type { UnavailableItem } from "../../schemas/checkout";
import type { Pricing } from "../../schemas/pricing";
import type { RecoveredOrder } from "../../schemas/recovery";
import { ContactStep } from "../payment/ContactStep";
import { e164 } from "../payment/contact";
import { giftDay } from "../payment/gift";
import { OrderSummary } from "../payment/OrderSummary";
import { BankIsConfirming, Processing, TransferToMake, Unrecorded } from "../payment/Outcome";
import { OtherPayments, PaymentTypeField } from "../payment/PaymentTypeField";
import { needsNoCard, PayPanel } from "../payment/PayPanel";
import { PromoField } from "../payment/PromoField";
import { recoveryUrl, takeRefusal } from "../payment/pendingPayment";
import { INVALID_PROMO, PAYMENT_ERROR } from "../payment/refusals";
import { ServerNotice } from "../payment/ServerNotice";
import { isBusy, type Purchase, type PurchaseEvent } from "../payment/state";
import { usePurchase } from "../payment/usePurchase";
import { waysToPay } from "../payment/waysToPay";
import { changeMessage, checkoutItemsOf, purchaseOf, reasonOf, wishesOf } from "./recoveredOrder";
import { usePricedOrder } from "./usePricedOrder";

type Props = { order: RecoveredOrder; token: string; pricing: Pricing; academy: Academy };

function goHomeWithToast() {
  toastOnNextPage({
    title: "¡Pago exitoso!",
    text: "Tu matrícula ha sido procesada correctamente",
    tone: "success",
  });
  window.location.assign("/");
}

/** A saved order with its payment. The buyer can change what step 2 of the dialog can change. */
export function RecoveredPurchase({ order: saved, token, pricing, ...props }: Props) {
  const link = { order: String(saved.id), token };
  // Bizum or PayPal has sent the buyer back without a payment.
  const [refusal] = useState(() => takeRefusal(saved.id));
  const { purchase, dispatch, card, pay, payWithWallet, payByTransfer, ...actions } = usePurchase(
    purchaseOf(saved, link, refusal),
    { onPaid: goHomeWithToast },
  );
  useEffect(() => {
    if (refusal) toast({ title: PAYMENT_ERROR, text: refusal, tone: "error" });
  }, [refusal]);
  const { payment, contact, contactErrors, priced, promo } = purchase;
  const academy = saved.isRenewal ? { ...props.academy, transfer: false } : props.academy;
  const busy = isBusy(purchase);
  const [without, setWithout] = useState<number[]>([]);
  const { order, isCurrent, isAsSaved, problem, reload } = usePricedOrder(
    saved,
    link,
    wishesOf(purchase, without),
  );
  useServersChoices(order, isCurrent, purchase, dispatch);

  const [before, setBefore] = useState(contact);
  const heading = useRef<HTMLHeadingElement>(null);
  function remove(ids: number[]) {
    // The pressed button disappears with its line.
    heading.current?.focus();
    setWithout([...without, ...ids]);
    dispatch({ type: "cart_changed" });
  }
  function removeRefused(refused: UnavailableItem[]) {
    if (purchase.notice?.kind === "unavailable") {
      heading.current?.focus();
      dispatch({ type: "cart_changed" });
      return reload();
    }
    const isRefused = (item: RecoveredOrder["items"][number]) =>
      refused.some((one) => one.subjectId === item.subjectId && one.lessonId === item.lessonId);
    remove(order.items.filter(isRefused).map((item) => item.id));
  }

  const { discounts, totalCents } = priced ?? order;
  const paymentType = priced ? purchase.paymentType : order.paymentType;
  const due =
    payment.phase === "card" || payment.phase === "confirming"
      ? payment.dueCents
      : dueNowCents(pricing.instalments, totalCents, paymentType);
  // As in the payment dialog: show the lines at their list price, then the discounts.
  const lines = priced?.lines ?? order.items;
  const checkoutCart = { items: checkoutItemsOf(order), totalCents, plan: pricing.instalments };
  const quoteNotice = priced ? priced.quoteNotice : isAsSaved ? null : reasonOf(order, "quote");
  const paymentProps = { email: contact.email, academy };

  if (payment.phase === "transfer") {
    return (
      <div className="card recovery__message">
        <h2>Haz la transferencia</h2>
        <TransferToMake {...paymentProps} transfer={payment.transfer} />
      </div>
    );
  }
  if (payment.phase === "unrecorded" || payment.phase === "processing") {
    return (
      <div className="card recovery__message">
        <h2>
          {payment.phase === "unrecorded"
            ? "Hemos recibido tu pago"
            : "Tu banco está confirmando el pago"}
        </h2>
        {payment.phase === "unrecorded" ? (
          <Unrecorded {...paymentProps} paymentIntentId={payment.paymentIntentId} />
        ) : (
          <Processing
            {...paymentProps}
            paymentIntentId={payment.paymentIntentId}
            onDeclined={actions.bankDeclined}
          />
        )}
      </div>
    );
  }
  if (order.items.length === 0) return <NothingLeft order={order} />;
  if (purchase.step === "contact") {
    const refused = Object.values(contactErrors).some(Boolean);
    const isKnown = before.email !== "";
    return (
      <section className="card recovery__contact" aria-labelledby="recovery-contact">
        <h2 id="recovery-contact">Tus datos</h2>
        {!isKnown && <p>Por si otra persona tiene este enlace, escribe tus datos otra vez.</p>}
        <ContactStep
          contact={contact}
          gift={null}
          serverErrors={contactErrors}
          academy={academy}
          startAt={refused ? null : "email"}
          onEdit={(edited) => dispatch({ type: "contact_edited", contact: edited })}
          onNext={() => {
            // A mailed link names the address of before: a reload opens the cart with the new one.
            if (contact.email !== before.email)
              history.replaceState(history.state, "", recoveryUrl({ orderId: saved.id, token }));
            dispatch({ type: "contact_accepted" });
          }}
          {...(isKnown && {
            onCancel() {
              if (contact !== before) dispatch({ type: "contact_edited", contact: before });
              dispatch({ type: "contact_accepted" });
            },
          })}
        />
      </section>
    );
  }

  const isConfirming = saved.bank === "confirming";
  return (
    <div className="recovery__columns">
      <section className="card" aria-labelledby="recovery-order" aria-busy={!isCurrent}>
        <h2 id="recovery-order" ref={heading} tabIndex={-1}>
          Tu matrícula
        </h2>
        {saved.bank === "declined" && (
          <p className="notice notice--warning">
            Tu banco no aceptó el pago anterior: no se ha cobrado nada y puedes pagar ahora con otra
            tarjeta.
          </p>
        )}
        <Changes order={order} isAsSaved={isAsSaved} />
        <ServerNotice
          purchase={purchase}
          totalCents={totalCents}
          onRemove={removeRefused}
          onBuyAgain={() => actions.buyAgain(checkoutCart)}
          onAcceptPrice={() => dispatch({ type: "price_accepted" })}
        />
        {problem && (
          <div className="notice notice--warning" role="alert">
            <p>No hemos podido calcular el precio con el cambio. {problem}</p>
            <button type="button" className="button button--quiet" onClick={reload}>
              Reintentar
            </button>
          </div>
        )}
        <OrderSummary order={{ lines: [], discounts, totalCents, quoteNotice }} dueNowCents={due}>
          <ul className="recovery__items">
            {order.items.map((item, index) => (
              <li key={item.id}>
                <div>
                  <strong>{item.lessonTitle ?? item.subjectName}</strong>
                  <small>
                    {item.lessonTitle && `${item.subjectName} · `}
                    {item.degreeName} · {item.universityName}
                  </small>
                  <span className="badge badge--accent">
                    {item.lessonId === null ? "Asignatura Completa" : "Lección Individual"}
                  </span>
                </div>
                <div>
                  <span className="price">
                    {formatEuros(lines[index]?.listPriceCents ?? item.priceCents)}
                  </span>
                  {order.items.length > 1 && !isConfirming && !saved.isRenewal && (
                    <button
                      type="button"
                      className="button button--plain"
                      disabled={busy}
                      onClick={() => remove([item.id])}
                    >
                      Quitar
                      <span className="visually-hidden">
                        {" "}
                        {item.lessonTitle ?? item.subjectName} del pedido
                      </span>
                    </button>
                  )}
                </div>
              </li>
            ))}
          </ul>
        </OrderSummary>
        {!isConfirming && saved.isRenewal && (
          <p className="notice">
            Es el precio de renovación, en un solo pago, y no se puede combinar con un código
            promocional.
          </p>
        )}
        {!isConfirming && !saved.isRenewal && (
          <>
            {order.quote ? (
              <div className="notice">
                <p>Es el precio de tu presupuesto. {NO_CODE_WITH_QUOTE}</p>
                <button
                  type="button"
                  className="button button--plain"
                  disabled={busy}
                  onClick={() => dispatch({ type: "quote_given_up" })}
                >
                  Usar los precios de hoy
                </button>
              </div>
            ) : (
              <PromoField
                applied={promo}
                error={purchase.promoError}
                disabled={busy}
                cart={{ items: checkoutCart.items, centsBeforePromo: totalCents }}
                paymentType={paymentType}
                email={contact.email}
                order={purchase.order}
                onApply={(applied) => dispatch({ type: "promo_applied", promo: applied })}
                onRefuse={(text) => dispatch({ type: "promo_refused", text })}
                onRemove={() => dispatch({ type: "promo_removed" })}
              />
            )}
            <PaymentTypeField
              pricing={pricing}
              chosen={purchase.paymentType}
              fullCents={order.totals.full_payment}
              instalmentsCents={order.totals.installment}
              items={order.items.map(({ lessonId }) => ({ complete: lessonId === null }))}
              minimumCents={order.instalmentMinimumCents}
              disabled={busy}
              onChoose={(type) => dispatch({ type: "payment_type_chosen", paymentType: type })}
            />
            <OtherPayments academy={academy} />
          </>
        )}
        <dl className="recovery__facts">
          <div>
            <dt>Email de contacto</dt>
            <dd>{contact.email}</dd>
          </div>
          <div>
            <dt>Teléfono</dt>
            <dd>{e164(contact)}</dd>
          </div>
          {saved.gift && (
            <div>
              <dt>Regalo para</dt>
              <dd>
                {saved.gift.email}, el {giftDay(saved.gift.deliverOn)}
              </dd>
            </div>
          )}
          <div>
            <dt>Guardada el</dt>
            <dd>{formatDay(saved.createdAt)}</dd>
          </div>
        </dl>
        {!isConfirming && !saved.isPersonal && (
          <button
            type="button"
            className="button button--quiet"
            disabled={busy}
            onClick={() => {
              setBefore(contact);
              dispatch({ type: "went_back" });
            }}
          >
            Cambiar tus datos
          </button>
        )}
      </section>
      <section className="card" aria-labelledby="recovery-pay">
        <h2 id="recovery-pay">
          {needsNoCard(due) ? "Confirmar el pedido" : `Pago con ${waysToPay(academy, paymentType)}`}
        </h2>
        {isConfirming ? (
          <>
            <p className="notice notice--warning">
              <BankIsConfirming email={contact.email} />
            </p>
            <button type="button" className="button" onClick={() => window.location.reload()}>
              Volver a comprobar
            </button>
          </>
        ) : (
          <PayPanel
            purchase={purchase}
            dispatch={dispatch}
            card={card}
            dueNowCents={due}
            academy={academy}
            payable={isCurrent}
            onPay={() => pay(checkoutCart)}
            onWallet={(wallet) => payWithWallet(checkoutCart, wallet)}
            onTransfer={() => payByTransfer(checkoutCart)}
          />
        )}
      </section>
    </div>
  );
}

/** Follow the server where it has not applied the buyer's code or payment type. */
function useServersChoices(
  order: RecoveredOrder,
  isCurrent: boolean,
  { paymentType, promo }: Purchase,
  dispatch: (event: PurchaseEvent) => void,
): void {
  useEffect(() => {
    if (!isCurrent) return;
    if (order.paymentType !== paymentType) {
      dispatch({ type: "payment_type_chosen", paymentType: order.paymentType });
    }
    if (promo && order.promoCode === null) {
      const text = reasonOf(order, "promo") ?? INVALID_PROMO;
      toast({ title: "Código eliminado", text, tone: "info" });
      dispatch({ type: "promo_removed" });
      dispatch({ type: "promo_refused", text });
    }
  }, [order, isCurrent, paymentType, promo, dispatch]);
}

/** The order of the link is paid. The link opens nothing more. */
export function AlreadyPaid({ portalUrl, academy }: { portalUrl: string; academy: Academy }) {
  return (
    <div className="card recovery__message" role="status">
      <h2>Esta compra ya está pagada</h2>
      <p>
        No hace falta que pagues otra vez. La confirmación y el enlace a tu acceso están en tu
        email.
      </p>
      <p>
        ¿No los encuentras? Mira en el spam o escríbenos a{" "}
        <a href={`mailto:${academy.supportEmail}`}>{academy.supportEmail}</a>.
      </p>
      <div className="recovery__actions">
        <a className="button" href={portalUrl}>
          Ir al aula virtual
        </a>
        <a className="button button--quiet" href="/">
          Volver al inicio
        </a>
      </div>
    </div>
  );
}

/** Every saved item has expired, so there is nothing to pay. */
export function NothingLeft({ order }: { order: RecoveredOrder }) {
  return (
    <div className="card recovery__message">
      <h2>Nada de lo que guardaste sigue disponible</h2>
      <ul>
        {order.changes
          .filter(({ kind }) => kind === "expired")
          .map(({ name }) => (
            <li key={name}>{name}</li>
          ))}
      </ul>
      <p>No se ha hecho ningún cargo. En el catálogo está lo que puedes comprar ahora.</p>
      <div className="recovery__actions">
        <a className="button" href="/compra">
          Ver el catálogo
        </a>
        <a className="button button--quiet" href="/">
          Volver al inicio
        </a>
      </div>
    </div>
  );
}

/**
 * The differences between the saved order and today's prices and rules. Of an order that the buyer
 * has changed on this page, only what the buyer did not change.
 */
function Changes({ order, isAsSaved }: { order: RecoveredOrder; isAsSaved: boolean }) {
  const changes = order.changes.filter(
    ({ kind }) => isAsSaved || kind === "price" || kind === "expired",
  );
  if (changes.length === 0) return null;
  return (
    <div className="notice notice--warning">
      <p>
        <strong>Ha cambiado desde que la guardaste</strong>
      </p>
      <ul>
        {changes.map((change) => (
          <li key={`${change.kind}-${change.name}`}>{changeMessage(change)}</li>
        ))}
      </ul>
      {isAsSaved && order.savedTotalCents !== order.totalCents && (
        <p>
          El total era de {formatEuros(order.savedTotalCents)} y ahora es de{" "}
          {formatEuros(order.totalCents)}.
        </p>
      )}
    </div>
  );
}

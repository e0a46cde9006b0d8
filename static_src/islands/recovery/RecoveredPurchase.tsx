import { formatDay } from "../../lib/dates";
import { formatEuros } from "../../lib/money";
import { dueNowCents, quoteCart } from "../../lib/quote";
import { toastOnNextPage } from "../../lib/toast";
import type { Academy } from "../../schemas/academy";
import type { Pricing } from "../../schemas/pricing";
import type { RecoveredOrder } from "../../schemas/recovery";
import { AlreadyBought } from "../payment/AlreadyBought";
import { ACCEPTANCES, AcceptanceCheckbox } from "../payment/ContactStep";
import { giftDay } from "../payment/gift";
import { OrderSummary } from "../payment/OrderSummary";
import { BankIsConfirming, Processing, Unrecorded } from "../payment/Outcome";
import { needsNoCard, PayPanel } from "../payment/PayPanel";
import { PriceChanged, RefusalNotice } from "../payment/RefusalNotice";
import { isBusy, mustAcceptPrice } from "../payment/state";
import { usePurchase } from "../payment/usePurchase";
import { changeMessage, checkoutItemsOf, purchaseOf } from "./recoveredOrder";

type Props = { order: RecoveredOrder; token: string; pricing: Pricing; academy: Academy };

function goHomeWithToast() {
  toastOnNextPage({
    title: "¡Pago exitoso!",
    text: "Tu matrícula ha sido procesada correctamente",
    tone: "success",
  });
  window.location.assign("/");
}

/** A saved order with its payment. */
export function RecoveredPurchase({ order, token, pricing, academy }: Props) {
  const { purchase, dispatch, card, pay, payWithWallet, buyAgain, bankDeclined } = usePurchase(
    purchaseOf(order, { order: String(order.id), token }),
    { onPaid: goHomeWithToast },
  );
  const { payment, contact, contactErrors, priced, paymentType } = purchase;
  const discounts = priced?.discounts ?? order.discounts;
  const totalCents = priced?.totalCents ?? order.totalCents;
  const due =
    payment.phase === "card" || payment.phase === "confirming"
      ? payment.dueCents
      : dueNowCents(pricing, totalCents, paymentType);
  // As in the payment dialog: show the lines at their list price, then the discounts.
  const listPrices =
    priced?.lines ??
    quoteCart(
      pricing,
      order.items.map(({ lessonId, priceCents }) => ({ complete: lessonId === null, priceCents })),
      { paymentType, promo: null },
    ).lines;
  const paymentProps = { email: order.student.email, academy };

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
            onDeclined={bankDeclined}
          />
        )}
      </div>
    );
  }

  return (
    <div className="recovery__columns">
      <section className="card" aria-labelledby="recovery-order">
        <h2 id="recovery-order">Tu matrícula</h2>
        {order.bank === "declined" && (
          <p className="notice notice--warning">
            Tu banco no aceptó el pago anterior: no se ha cobrado nada y puedes pagar ahora con otra
            tarjeta.
          </p>
        )}
        <Changes order={order} />
        {mustAcceptPrice(purchase) && (
          <PriceChanged
            totalCents={totalCents}
            onAccept={() => dispatch({ type: "price_accepted" })}
          />
        )}
        <ReloadNotice purchase={purchase} />
        {purchase.notice?.kind === "already_bought" && (
          <AlreadyBought
            items={purchase.notice.items}
            onBuyAgain={() => buyAgain({ items: checkoutItemsOf(order), totalCents })}
          />
        )}
        <OrderSummary
          order={{ lines: [], discounts, totalCents, quoteNotice: priced?.quoteNotice ?? null }}
          dueNowCents={due}
        >
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
                <span className="price">
                  {formatEuros(listPrices[index]?.listPriceCents ?? item.priceCents)}
                </span>
              </li>
            ))}
          </ul>
        </OrderSummary>
        <dl className="recovery__facts">
          <div>
            <dt>Email de contacto</dt>
            <dd>{order.student.email}</dd>
          </div>
          <div>
            <dt>Teléfono</dt>
            <dd>{order.student.phone}</dd>
          </div>
          {order.gift && (
            <div>
              <dt>Regalo para</dt>
              <dd>
                {order.gift.email}, el {giftDay(order.gift.deliverOn)}
              </dd>
            </div>
          )}
          <div>
            <dt>Guardada el</dt>
            <dd>{formatDay(order.createdAt)}</dd>
          </div>
          <div>
            <dt>Forma de pago</dt>
            <dd>
              {paymentType === "installment"
                ? `${pricing.instalments.count} plazos, cada ${pricing.instalments.everyDays} días, sin intereses`
                : "Pago completo"}
            </dd>
          </div>
        </dl>
      </section>
      <section className="card" aria-labelledby="recovery-pay">
        <h2 id="recovery-pay">{needsNoCard(due) ? "Confirmar el pedido" : "Pago con tarjeta"}</h2>
        {order.bank === "confirming" ? (
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
            payable
            onPay={() => pay({ items: checkoutItemsOf(order), totalCents })}
            onWallet={(wallet) =>
              payWithWallet({ items: checkoutItemsOf(order), totalCents }, wallet)
            }
            boxesBefore={ACCEPTANCES.filter((field) => contactErrors[field] || contact[field]).map(
              (field) => (
                <AcceptanceCheckbox
                  key={field}
                  field={field}
                  contact={contact}
                  errors={contactErrors}
                  disabled={isBusy(purchase)}
                  onEdit={(edited) => dispatch({ type: "contact_edited", contact: edited })}
                />
              ),
            )}
          />
        )}
      </section>
    </div>
  );
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

/** The differences between the saved order and today's prices and rules. */
function Changes({ order }: { order: RecoveredOrder }) {
  if (order.changes.length === 0) return null;
  return (
    <div className="notice notice--warning">
      <p>
        <strong>Ha cambiado desde que la guardaste</strong>
      </p>
      <ul>
        {order.changes.map((change) => (
          <li key={`${change.kind}-${change.name}`}>{changeMessage(change)}</li>
        ))}
      </ul>
      {order.savedTotalCents !== order.totalCents && (
        <p>
          El total era de {formatEuros(order.savedTotalCents)} y ahora es de{" "}
          {formatEuros(order.totalCents)}.
        </p>
      )}
    </div>
  );
}

/** The server refused the promo code or an item. Reloading shows the order without them. */
function ReloadNotice({ purchase }: { purchase: ReturnType<typeof usePurchase>["purchase"] }) {
  const names =
    purchase.notice?.kind === "unavailable" ? purchase.notice.items.map((item) => item.name) : [];
  const text =
    purchase.promoError ?? (names.length > 0 ? `Ya no se puede comprar: ${names.join(", ")}.` : "");
  if (!text) return null;
  return (
    <RefusalNotice>
      <p>{text}</p>
      <button
        type="button"
        className="button button--quiet"
        onClick={() => window.location.reload()}
      >
        Actualizar la matrícula
      </button>
    </RefusalNotice>
  );
}

import { Check, NewTab } from "../../lib/fields";
import { formatEuros } from "../../lib/money";
import { dueNowCents, quoteCart } from "../../lib/quote";
import { toastOnNextPage } from "../../lib/toast";
import type { Academy } from "../../schemas/academy";
import type { RecoveredOrder } from "../../schemas/payments";
import type { Pricing } from "../../schemas/pricing";
import { AlreadyBought } from "../payment/AlreadyBought";
import { OrderSummary } from "../payment/OrderSummary";
import { Processing, Unrecorded } from "../payment/Outcome";
import { PayPanel } from "../payment/PayPanel";
import { isBusy } from "../payment/state";
import { usePurchase } from "../payment/usePurchase";
import { changeSentence, checkoutItemsOf, purchaseOf } from "./recovered";

type Props = { order: RecoveredOrder; token: string; pricing: Pricing; academy: Academy };

const savedOn = new Intl.DateTimeFormat("es-ES", { dateStyle: "long", timeZone: "Europe/Madrid" });

function leave() {
  toastOnNextPage({
    title: "¡Pago exitoso!",
    text: "Tu matrícula ha sido procesada correctamente",
    tone: "success",
  });
  window.location.assign("/");
}

export function RecoveredPurchase({ order, token, pricing, academy }: Props) {
  const { purchase, dispatch, card, pay, payAnyway } = usePurchase(
    purchaseOf(order, { order: String(order.id), token }),
    { onPaid: leave },
  );
  const { payment, contact, contactErrors, priced, paymentType } = purchase;
  const discounts = priced?.discounts ?? order.discounts;
  const totalCents = priced?.totalCents ?? order.totalCents;
  const due =
    payment.phase === "card" || payment.phase === "confirming"
      ? payment.dueCents
      : dueNowCents(pricing, totalCents, paymentType);
  // As in the dialog: the lines at their list price, then what is taken off.
  const listPrices =
    priced?.lines ??
    quoteCart(
      pricing,
      order.items.map(({ lessonId, priceCents }) => ({ complete: lessonId === null, priceCents })),
      { paymentType, promo: null },
    ).lines;
  const known = { email: order.student.email, academy };

  if (payment.phase === "unrecorded" || payment.phase === "processing") {
    return (
      <div className="card recovery__message">
        <h2>
          {payment.phase === "unrecorded"
            ? "Hemos recibido tu pago"
            : "Tu banco está confirmando el pago"}
        </h2>
        {payment.phase === "unrecorded" ? (
          <Unrecorded {...known} paymentIntentId={payment.paymentIntentId} />
        ) : (
          <Processing {...known} paymentIntentId={payment.paymentIntentId} />
        )}
      </div>
    );
  }

  return (
    <div className="recovery__columns">
      <section className="card" aria-labelledby="recovery-order">
        <h2 id="recovery-order">Tu matrícula</h2>
        <Changes order={order} />
        {purchase.notice?.kind === "price_changed" && (
          <p className="notice notice--warning" role="alert">
            El precio ha cambiado. El total es ahora {formatEuros(totalCents)}. Revísalo y, si estás
            de acuerdo, pulsa otra vez «Pagar».
          </p>
        )}
        <Stale purchase={purchase} />
        {purchase.notice?.kind === "already_bought" && (
          <AlreadyBought
            items={purchase.notice.items}
            onBuyAgain={() => payAnyway({ items: checkoutItemsOf(order), totalCents })}
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
            <dt>Correo de contacto</dt>
            <dd>{order.student.email}</dd>
          </div>
          <div>
            <dt>Teléfono</dt>
            <dd>{order.student.phone}</dd>
          </div>
          <div>
            <dt>Guardada el</dt>
            <dd>{savedOn.format(order.createdAt)}</dd>
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
        <h2 id="recovery-pay">Pago con tarjeta</h2>
        <PayPanel
          purchase={purchase}
          dispatch={dispatch}
          card={card}
          dueNowCents={due}
          academy={academy}
          payable
          onPay={() => pay({ items: checkoutItemsOf(order), totalCents })}
          moreBoxes={
            <>
              {(contactErrors.termsAccepted || contact.termsAccepted) && (
                <Check
                  required
                  checked={contact.termsAccepted}
                  disabled={isBusy(purchase)}
                  error={contactErrors.termsAccepted}
                  onChange={(termsAccepted) =>
                    dispatch({ type: "contact_edited", contact: { ...contact, termsAccepted } })
                  }
                >
                  Acepto los <NewTab href="/terminos">términos y condiciones</NewTab>
                </Check>
              )}
              {(contactErrors.privacyAccepted || contact.privacyAccepted) && (
                <Check
                  required
                  checked={contact.privacyAccepted}
                  disabled={isBusy(purchase)}
                  error={contactErrors.privacyAccepted}
                  onChange={(privacyAccepted) =>
                    dispatch({ type: "contact_edited", contact: { ...contact, privacyAccepted } })
                  }
                >
                  Acepto la <NewTab href="/privacidad">política de privacidad</NewTab>
                </Check>
              )}
            </>
          }
        />
      </section>
    </div>
  );
}

/** Everything has expired since: there is nothing to pay, and the catalogue has what there is now. */
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

/** What is different from what was saved, before any payment is taken. */
function Changes({ order }: { order: RecoveredOrder }) {
  if (order.changes.length === 0) return null;
  return (
    <div className="notice notice--warning">
      <p>
        <strong>Ha cambiado desde que la guardaste</strong>
      </p>
      <ul>
        {order.changes.map((change) => (
          <li key={`${change.kind}-${change.name}`}>{changeSentence(change)}</li>
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

/** Something was refused that only a fresh look at the order can settle. */
function Stale({ purchase }: { purchase: ReturnType<typeof usePurchase>["purchase"] }) {
  const names =
    purchase.notice?.kind === "unavailable" ? purchase.notice.items.map((item) => item.name) : [];
  const text =
    purchase.promoError ?? (names.length > 0 ? `Ya no se puede comprar: ${names.join(", ")}.` : "");
  if (!text) return null;
  return (
    <div className="notice notice--warning" role="alert">
      <p>{text}</p>
      <button
        type="button"
        className="button button--quiet"
        onClick={() => window.location.reload()}
      >
        Actualizar la matrícula
      </button>
    </div>
  );
}

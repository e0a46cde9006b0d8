import { type ReactNode, useEffect, useState } from "react";
import { AlertIcon, CheckIcon } from "../../lib/icons";
import { formatEuros } from "../../lib/pricing/money";
import type { Academy } from "../../schemas/academy";
import type { OrderByPayment } from "../../schemas/orderByPayment";
import { giftDay } from "../payment/gift";
import { BankIsConfirming } from "../payment/Outcome";
import {
  followPayment,
  type PaymentReference,
  type PaymentResult,
  referenceId,
} from "../payment/paymentResult";
import {
  cancelUrl,
  forgetPayment,
  pendingOrder,
  recoveryUrl,
  rememberRefusal,
} from "../payment/pendingPayment";
import { EmailCorrection } from "./EmailCorrection";

type Plan = { count: number; everyDays: number };
type Bought = { id: number; name: string };

type Props = {
  reference: PaymentReference;
  portalUrl: string;
  portalProfileUrl: string;
  plan: Plan;
  /** The order's lines. Empty if the shop does not know the payment yet. */
  bought: Bought[];
  academy: Academy;
};

const invoiceUrl = (reference: PaymentReference): string =>
  `/factura?pago=${encodeURIComponent(referenceId(reference))}`;

const dateAndTime = new Intl.DateTimeFormat("es-ES", {
  dateStyle: "long",
  timeStyle: "short",
  timeZone: "Europe/Madrid",
});

/** The success page: shows the result of the payment in the address, and updates it. */
export function Success(props: Props) {
  const { reference, portalUrl, portalProfileUrl, plan, bought, academy } = props;
  // Read before the result is known: then the stored order is forgotten.
  const [stored] = useState(() => pendingOrder(referenceId(reference)));
  const result = usePaymentResult(reference);
  const correction = stored && <EmailCorrection order={stored} />;
  const support = (
    <p className="payment-result__support">
      ¿Necesitas ayuda? Escríbenos a{" "}
      <a href={`mailto:${academy.supportEmail}`}>{academy.supportEmail}</a>.
    </p>
  );
  const invoice = (
    <p className="payment-result__support">
      ¿Necesitas factura? <a href={invoiceUrl(reference)}>Pídela aquí</a>.
    </p>
  );
  const classroom = (
    <a className="button" href={portalUrl}>
      Ir al aula virtual
    </a>
  );

  switch (result.kind) {
    case "processing":
    case "not_paid":
      return (
        <Panel title="Procesando tu pago..." tone="wait">
          <p>Será solo un momento. No cierres esta página.</p>
        </Panel>
      );
    case "paid":
      return (
        <Panel title="Pago exitoso" tone="success">
          <p className="payment-result__lead">
            Gracias{result.order.student.firstName && `, ${result.order.student.firstName}`}.{" "}
            {result.order.gift ? "Tu regalo está pagado." : "Tu matrícula está hecha."}
          </p>
          <Facts order={result.order} plan={plan} bought={bought} />
          {result.order.boughtTwice.length > 0 && (
            <p className="notice">
              Ya tenías {names(result.order.boughtTwice)}. Si ha sido sin querer, escríbenos y te
              devolvemos lo que has pagado dos veces.
            </p>
          )}
          {result.order.paidCents < result.order.totalCents && (
            <p>
              Los plazos siguientes se cobran en la misma tarjeta, uno cada {plan.everyDays} días.
              Te avisaremos por email dos días antes de cada uno.
            </p>
          )}
          {result.order.gift ? (
            <div className="notice notice--success">
              <p>
                <strong>{giftSentence(result.order.gift)}</strong>
              </p>
              <p>Te enviamos la confirmación de tu compra a {result.order.student.email}.</p>
              {correction}
            </div>
          ) : result.access === "sent" ? (
            <div className="notice notice--success">
              <p>
                <strong>Credenciales enviadas a tu email</strong>
              </p>
              <p>
                Mira en {result.order.student.email}: ahí tienes el enlace para crear tu contraseña.
              </p>
              {correction}
            </div>
          ) : (
            <div className="notice">
              <p>
                <strong>Estamos preparando tu acceso</strong>
              </p>
              <p>Te escribiremos a {result.order.student.email} en cuanto esté listo.</p>
              {correction}
            </div>
          )}
          {result.order.gift ? (
            <div className="payment-result__actions">
              <a className="button button--quiet" href="/compra">
                Ver más asignaturas
              </a>
            </div>
          ) : (
            <div className="payment-result__actions">
              {classroom}
              <a className="button button--quiet" href={portalProfileUrl}>
                Ver mi perfil
              </a>
            </div>
          )}
          {result.order.totalCents > 0 && invoice}
          {support}
        </Panel>
      );
    case "refunded": {
      const { amountCents, access } = result.refund;
      const isWhole = result.order.status === "refunded";
      return (
        <Panel title={isWhole ? "Compra devuelta" : "Compra devuelta en parte"} tone="done">
          <p>
            Te hemos devuelto {isWhole ? "" : `${formatEuros(amountCents)} de `}los{" "}
            {formatEuros(result.order.paidCents)} que pagaste. El dinero vuelve por donde se pagó.
          </p>
          <p className="notice">{ACCESS_LEFT[access]}</p>
          <Facts order={result.order} plan={plan} bought={bought} />
          {access !== "ended" && <div className="payment-result__actions">{classroom}</div>}
          {support}
        </Panel>
      );
    }
    case "access_failed":
      return (
        <Panel title="Tu pago se ha realizado" tone="warning">
          <p className="notice notice--error">Error al procesar la autenticación.</p>
          <p>
            El pago se ha cobrado correctamente, pero no hemos podido crear tu acceso al aula.
            Nuestro equipo recibirá un aviso y lo resolverá; no hace falta que pagues otra vez.
          </p>
          <Facts order={result.order} plan={plan} bought={bought} />
          <div className="payment-result__actions">{classroom}</div>
          {support}
        </Panel>
      );
    case "under_review":
      return (
        <Panel title="Hemos recibido tu pago" tone="warning">
          <p>Lo estamos revisando y te escribiremos pronto. No hace falta que pagues otra vez.</p>
          <Facts order={result.order} plan={plan} bought={bought} />
          {support}
        </Panel>
      );
    case "bank_is_confirming":
      return (
        <Panel title="Tu banco está confirmando el pago" tone="wait">
          <p>
            <BankIsConfirming email={result.order.student.email} />
          </p>
          {support}
        </Panel>
      );
    case "declined":
      return (
        <Panel title="Tu banco no ha aceptado el pago" tone="warning">
          <p>
            No se ha hecho ningún cargo y tu compra sigue guardada. Te hemos enviado un email con un
            enlace para terminarla con otra tarjeta.
          </p>
          <div className="payment-result__actions">
            <a className="button" href={cancelUrl(referenceId(reference))}>
              Recuperar mi compra
            </a>
          </div>
          {support}
        </Panel>
      );
    case "error":
      return (
        <Panel title="No podemos mostrar tu compra" tone="warning">
          <p className="notice notice--error">{result.text}</p>
          <p>Si has pagado, recibirás la confirmación por email igualmente.</p>
          <div className="payment-result__actions">
            <button type="button" className="button" onClick={() => window.location.reload()}>
              Volver a comprobar
            </button>
            <a className="button button--quiet" href={portalUrl}>
              Ir al aula virtual
            </a>
          </div>
          {support}
        </Panel>
      );
  }
}

const enumeration = new Intl.ListFormat("es-ES");
const names = (rows: string[]): string => enumeration.format(rows.map((name) => `«${name}»`));

const ACCESS_LEFT = {
  kept: "El acceso que dio esta compra sigue abierto.",
  partly: "Sigue abierto el acceso a lo que no se ha devuelto.",
  ended: "Esta compra ya no da acceso al aula.",
};

function giftSentence({ email, deliverOn, status }: NonNullable<OrderByPayment["gift"]>): string {
  if (status === "canceled") return "El regalo se ha anulado.";
  return status === "delivered"
    ? `Enviamos ahora el acceso a ${email}.`
    : `El acceso llegará a ${email} el ${giftDay(deliverOn)}.`;
}

/** Lead to the saved order, with the reason if there is one, or to the cancel page. */
function leaveUnpaid(paymentIntentId: string, refusal: string): void {
  const order = refusal ? pendingOrder(paymentIntentId) : null;
  if (order) rememberRefusal(refusal);
  window.location.replace(order ? recoveryUrl(order) : cancelUrl(paymentIntentId));
}

const undecided = new Set<PaymentResult["kind"]>(["bank_is_confirming", "declined", "error"]);

function usePaymentResult(reference: PaymentReference): PaymentResult {
  const [result, setResult] = useState<PaymentResult>({ kind: "processing" });
  useEffect(() => {
    removeStripeParameters(reference);
    const controller = new AbortController();
    const onResult = (next: PaymentResult) => {
      if (next.kind === "not_paid") leaveUnpaid(referenceId(reference), next.refusal);
      // The stored order is needed until the bank has decided: a declined payment links to it.
      else if (!undecided.has(next.kind)) forgetPayment();
      setResult(next);
    };
    followPayment(reference, onResult, controller.signal);
    return () => controller.abort();
  }, [reference]);
  return result;
}

/** Remove what Stripe has added to the address, because that includes the client secret. */
function removeStripeParameters({ sessionId, paymentIntentId }: PaymentReference): void {
  const own = sessionId ? { session_id: sessionId } : { payment_intent_id: paymentIntentId };
  window.history.replaceState(null, "", `/success?${new URLSearchParams(own)}`);
}

type PanelProps = {
  title: string;
  tone: "wait" | "success" | "done" | "warning";
  children: ReactNode;
};

function Panel({ title, tone, children }: PanelProps) {
  return (
    <div
      className={`payment-result payment-result--${tone}`}
      aria-live="polite"
      aria-busy={tone === "wait"}
    >
      <span className="payment-result__mark">
        {(tone === "success" || tone === "done") && <CheckIcon />}
        {tone === "warning" && <AlertIcon />}
      </span>
      <h1>{title}</h1>
      {children}
    </div>
  );
}

type FactsProps = { order: OrderByPayment; plan: Plan; bought: Bought[] };

function Facts({ order, plan, bought }: FactsProps) {
  const items = order.itemsCount === 1 ? "1 artículo" : `${order.itemsCount} artículos`;
  return (
    <dl className="payment-result__facts">
      <div>
        <dt>Referencia</dt>
        <dd>{order.reference}</dd>
      </div>
      <div>
        <dt>Fecha</dt>
        <dd>{dateAndTime.format(order.createdAt)}</dd>
      </div>
      <div>
        <dt>Compra</dt>
        <dd>
          {items}
          {bought.length > 0 && (
            <ul className="payment-result__bought">
              {bought.map(({ id, name }) => (
                <li key={id}>{name}</li>
              ))}
            </ul>
          )}
        </dd>
      </div>
      <div>
        <dt>Importe pagado</dt>
        <dd className="price">
          {formatEuros(order.paidCents)}
          {order.paidCents < order.totalCents && (
            <small>
              {" "}
              de {formatEuros(order.totalCents)}, en {plan.count} plazos
            </small>
          )}
        </dd>
      </div>
    </dl>
  );
}

import { type ReactNode, useEffect, useState } from "react";
import { AlertIcon, CheckIcon } from "../../lib/icons";
import { formatEuros } from "../../lib/money";
import type { Academy } from "../../schemas/academy";
import type { OrderByPayment } from "../../schemas/payments";
import { cancelUrl, forgetPayment } from "../payment/pending";
import { type Arrival, follow, known, type Reference } from "./follow";

type Props = {
  reference: Reference;
  portalUrl: string;
  portalProfileUrl: string;
  academy: Academy;
};

const dateAndTime = new Intl.DateTimeFormat("es-ES", {
  dateStyle: "long",
  timeStyle: "short",
  timeZone: "Europe/Madrid",
});

export function Success({ reference, portalUrl, portalProfileUrl, academy }: Props) {
  const arrival = useArrival(reference);
  const support = (
    <p className="arrival__support">
      ¿Necesitas ayuda? Escríbenos a{" "}
      <a href={`mailto:${academy.supportEmail}`}>{academy.supportEmail}</a>.
    </p>
  );
  const classroom = (
    <a className="button" href={portalUrl}>
      Ir al aula virtual
    </a>
  );

  switch (arrival.kind) {
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
          <p className="arrival__lead">
            Gracias{arrival.order.student.firstName && `, ${arrival.order.student.firstName}`}. Ya
            tienes tu plaza.
          </p>
          <Facts order={arrival.order} />
          {arrival.access === "sent" ? (
            <div className="notice notice--success">
              <p>
                <strong>Credenciales enviadas a tu email</strong>
              </p>
              <p>
                Mira en {arrival.order.student.email}: ahí tienes el enlace para crear tu
                contraseña.
              </p>
            </div>
          ) : (
            <div className="notice">
              <p>
                <strong>Estamos preparando tu acceso</strong>
              </p>
              <p>Te escribiremos a {arrival.order.student.email} en cuanto esté listo.</p>
            </div>
          )}
          <div className="arrival__actions">
            {classroom}
            <a className="button button--quiet" href={portalProfileUrl}>
              Ver mi perfil
            </a>
          </div>
          {support}
        </Panel>
      );
    case "access_failed":
      return (
        <Panel title="Tu pago se ha realizado" tone="warning">
          <p className="notice notice--error">Error al procesar la autenticación.</p>
          <p>
            El pago se ha cobrado correctamente, pero no hemos podido crear tu acceso al aula.
            Nuestro equipo recibirá un aviso y lo resolverá; no hace falta que pagues otra vez.
          </p>
          <Facts order={arrival.order} />
          <div className="arrival__actions">{classroom}</div>
          {support}
        </Panel>
      );
    case "under_review":
      return (
        <Panel title="Hemos recibido tu pago" tone="warning">
          <p>Lo estamos revisando y te escribiremos pronto. No hace falta que pagues otra vez.</p>
          <Facts order={arrival.order} />
          {support}
        </Panel>
      );
    case "bank_is_confirming":
      return (
        <Panel title="Tu banco está confirmando el pago" tone="wait">
          <p>
            Puede tardar unos minutos. Te escribiremos a {arrival.order.student.email} en cuanto lo
            confirme; no hace falta que pagues otra vez.
          </p>
          {support}
        </Panel>
      );
    case "error":
      return (
        <Panel title="No podemos mostrar tu compra" tone="warning">
          <p className="notice notice--error">{arrival.text}</p>
          <p>Si has pagado, recibirás la confirmación por correo igualmente.</p>
          <div className="arrival__actions">
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

function useArrival(reference: Reference): Arrival {
  const [arrival, setArrival] = useState<Arrival>({ kind: "processing" });
  useEffect(() => {
    dropForeignParameters(reference);
    const controller = new AbortController();
    const tell = (next: Arrival) => {
      if (next.kind === "not_paid") window.location.replace(cancelUrl(known(reference)));
      else forgetPayment();
      setArrival(next);
    };
    follow(reference, tell, controller.signal);
    return () => controller.abort();
  }, [reference]);
  return arrival;
}

/** What the card provider adds to the address (its client secret too) is taken off. */
function dropForeignParameters({ sessionId, paymentIntentId }: Reference): void {
  const own = sessionId ? { session_id: sessionId } : { payment_intent_id: paymentIntentId };
  window.history.replaceState(null, "", `/success?${new URLSearchParams(own)}`);
}

type PanelProps = { title: string; tone: "wait" | "success" | "warning"; children: ReactNode };

function Panel({ title, tone, children }: PanelProps) {
  return (
    <div className={`arrival arrival--${tone}`} aria-live="polite" aria-busy={tone === "wait"}>
      <span className="arrival__mark">
        {tone === "success" && <CheckIcon />}
        {tone === "warning" && <AlertIcon />}
      </span>
      <h1>{title}</h1>
      {children}
    </div>
  );
}

function Facts({ order }: { order: OrderByPayment }) {
  const items = order.itemsCount === 1 ? "1 artículo" : `${order.itemsCount} artículos`;
  return (
    <dl className="arrival__facts">
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
        <dd>{items}</dd>
      </div>
      <div>
        <dt>Importe pagado</dt>
        <dd className="price">
          {formatEuros(order.paidCents)}
          {order.paidCents < order.totalCents && (
            <small> de {formatEuros(order.totalCents)}, en 3 plazos</small>
          )}
        </dd>
      </div>
    </dl>
  );
}

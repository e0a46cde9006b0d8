/**
 * The last views of a purchase: charged but not recorded, confirmed later by the bank, or saved.
 */
import { useEffect, useRef, useState } from "react";
import { formatDay } from "../../lib/dates";
import { toast } from "../../lib/page/toast";
import { formatEuros } from "../../lib/pricing/money";
import type { Academy } from "../../schemas/academy";
import type { Transfer } from "../../schemas/checkout";
import { resendEmail, successUrl } from "./checkoutApi";
import { formatCountdown, notReadyMessage, RESEND_ATTEMPTS, waitAfter } from "./countdown";
import { followPayment } from "./paymentResult";
import { useSecondsUntil } from "./useSecondsUntil";

const SEND_FAILED = "Error al enviar email";
const NOT_SENT = "No se pudo reenviar el email";

type PaymentProps = { paymentIntentId: string; email: string; academy: Academy };

/**
 * The card was charged, but complete-payment failed. Offers to send the confirmation e-mail again.
 */
export function Unrecorded({ paymentIntentId, email, academy }: PaymentProps) {
  const [attemptsLeft, setAttemptsLeft] = useState(RESEND_ATTEMPTS);
  const [waitUntil, setWaitUntil] = useState(0);
  const [lastResult, setLastResult] = useState<"sent" | "failed" | null>(null);
  /** The server's sentence: the mail cannot be sent yet. */
  const [notYet, setNotYet] = useState("");
  const [sending, setSending] = useState(false);
  const secondsLeft = useSecondsUntil(waitUntil);

  async function resend() {
    if (sending || secondsLeft > 0 || attemptsLeft === 0) return;
    setSending(true);
    const result = await resendEmail(paymentIntentId).then(
      (response) => ({ sent: true, notYet: "", response }),
      (error: unknown) => ({
        sent: false,
        notYet: notReadyMessage(error),
        response: waitAfter(error, attemptsLeft),
      }),
    );
    setSending(false);
    setAttemptsLeft(result.response.attemptsLeft);
    setWaitUntil(Date.now() + result.response.secondsLeft * 1000);
    setNotYet(result.notYet);
    if (result.notYet) return setLastResult(null);
    setLastResult(result.sent ? "sent" : "failed");
    if (!result.sent) toast({ title: SEND_FAILED, text: NOT_SENT, tone: "error" });
  }

  return (
    <div className="purchase__outcome">
      <p className="form__lead">
        Tu pago se ha realizado correctamente. Estamos terminando de registrar tu compra: en unos
        minutos recibirás en <strong>{email}</strong> la confirmación y el enlace de acceso. No hace
        falta que pagues otra vez.
      </p>
      <div className="notice" aria-live="polite">
        {notYet && <p>{notYet}</p>}
        {lastResult === "failed" && (
          <p className="field__error">
            {SEND_FAILED}. {NOT_SENT}.
          </p>
        )}
        {lastResult === "sent" && (
          <p>Te hemos enviado otra vez el email. Mira también en el spam.</p>
        )}
        {attemptsLeft > 0 ? (
          <>
            <p>¿No te ha llegado el email de verificación?</p>
            <button
              type="button"
              className="button button--quiet"
              disabled={secondsLeft > 0}
              aria-busy={sending}
              onClick={resend}
            >
              Reenviar el email de verificación
            </button>
          </>
        ) : (
          <p>
            ¿Sigues sin recibirlo? Escríbenos a{" "}
            <a href={`mailto:${academy.supportEmail}`}>{academy.supportEmail}</a> y te ayudamos.
          </p>
        )}
      </div>
      {attemptsLeft > 0 && secondsLeft > 0 && (
        <p className="form__note" role="timer">
          Podrás volver a enviarlo en {formatCountdown(secondsLeft)}. Intentos que quedan:{" "}
          {attemptsLeft}.
        </p>
      )}
      <a className="button" href={successUrl(paymentIntentId)}>
        Ver mi compra
      </a>
    </div>
  );
}

/** What happens with a payment that the bank is still looking at. */
export function BankIsConfirming({ email }: { email: string }) {
  return (
    <>
      Tu banco todavía está mirando el pago, y puede tardar unos minutos; no hace falta que pagues
      otra vez. Si lo acepta, te escribimos a <strong>{email}</strong> con tu acceso; si lo rechaza,
      no se cobra nada y te enviamos un enlace para pagar con otra tarjeta.
    </>
  );
}

/** The bank has not confirmed the payment yet. Asks for its decision while this is shown. */
export function Processing({
  paymentIntentId,
  email,
  academy,
  onDeclined,
}: PaymentProps & { onDeclined(): void }) {
  const declined = useRef(onDeclined);
  declined.current = onDeclined;
  useEffect(() => {
    if (!paymentIntentId) return;
    const controller = new AbortController();
    const reference = { sessionId: "", paymentIntentId };
    followPayment(
      reference,
      ({ kind }) => {
        if (kind === "not_paid" || kind === "declined") declined.current();
        else if (kind !== "bank_is_confirming" && kind !== "error")
          window.location.assign(successUrl(paymentIntentId));
      },
      controller.signal,
    );
    return () => controller.abort();
  }, [paymentIntentId]);

  return (
    <div className="purchase__outcome">
      <p className="form__lead">
        <BankIsConfirming email={email} />
      </p>
      {paymentIntentId && (
        <a className="button" href={successUrl(paymentIntentId)}>
          Ver el estado del pago
        </a>
      )}
      <p className="form__note">
        ¿Alguna duda? Escríbenos a{" "}
        <a href={`mailto:${academy.supportEmail}`}>{academy.supportEmail}</a>.
      </p>
    </div>
  );
}

type TransferProps = { transfer: Transfer; email: string; academy: Academy };

/** The order waits for a bank transfer: how to make it. */
export function TransferToMake({ transfer, email, academy }: TransferProps) {
  return (
    <div className="purchase__outcome">
      <p className="form__lead">
        Tu pedido queda a la espera. Cuando llegue la transferencia te escribiremos a{" "}
        <strong>{email}</strong> y abriremos tu acceso: suele tardar uno o dos días.
      </p>
      <dl className="payment-result__facts">
        <div>
          <dt>Importe</dt>
          <dd className="price">{formatEuros(transfer.amountCents)}</dd>
        </div>
        <div>
          <dt>Beneficiario</dt>
          <dd>{transfer.beneficiary}</dd>
        </div>
        <div>
          <dt>IBAN</dt>
          <dd>
            {transfer.iban}
            <Copy what="IBAN" text={transfer.iban} />
          </dd>
        </div>
        <div>
          <dt>Concepto</dt>
          <dd>
            {transfer.reference}
            <Copy what="concepto" text={transfer.reference} />
          </dd>
        </div>
      </dl>
      <p>
        Escribe el concepto tal cual: por él sabemos que el pago es tuyo. Tienes hasta el{" "}
        {formatDay(new Date(transfer.validUntil))}. Te los enviamos también por email; apúntalos por
        si tarda.
      </p>
      <p className="form__note">
        ¿Alguna duda? Escríbenos a{" "}
        <a href={`mailto:${academy.supportEmail}`}>{academy.supportEmail}</a>.
      </p>
    </div>
  );
}

/** A button that copies the text, for the form of the bank's app. */
function Copy({ what, text }: { what: string; text: string }) {
  // Browsers have no clipboard for pages without TLS.
  if (!navigator.clipboard) return null;
  const tell = (title: string) => () => toast({ title, tone: "info" });
  const copy = () =>
    navigator.clipboard
      .writeText(text)
      .then(tell(`Has copiado el ${what}`), tell(`Copia el ${what} a mano`));
  return (
    <button type="button" className="button button--plain" onClick={copy}>
      Copiar<span className="visually-hidden"> el {what}</span>
    </button>
  );
}

/** The cart was saved for later. */
export function Saved({ email, onClose }: { email: string; onClose(): void }) {
  return (
    <div className="purchase__outcome">
      <p className="form__lead">
        Te hemos enviado a <strong>{email}</strong> un enlace para retomar tu compra cuando quieras
        durante 30 días. No se ha cobrado nada.
      </p>
      <button type="button" className="button" onClick={onClose}>
        Seguir viendo asignaturas
      </button>
    </div>
  );
}

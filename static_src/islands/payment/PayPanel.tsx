import { type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import { Checkbox, NewTabLink, PrivacyNote } from "../../lib/forms/fields";
import { LockIcon } from "../../lib/icons";
import { formatEuros } from "../../lib/pricing/money";
import type { Academy } from "../../schemas/academy";
import { CardForm, type CardHandle } from "./CardForm";
import { PURCHASE_PURPOSE } from "./ContactStep";
import { formatCountdown } from "./countdown";
import { recoveryUrl } from "./pendingPayment";
import { focusRefusal } from "./RefusalNotice";
import { canPay, isBusy, mustAcceptPrice, type Purchase, type PurchaseEvent } from "./state";
import { useSecondsUntil } from "./useSecondsUntil";
import { Waiting } from "./Waiting";
import { TICK_THIS_BOX, type WalletPayment, Wallets } from "./Wallets";
import { waysToPay } from "./waysToPay";

/** Why the buyer has to wait, and for how long. */
function Paused({ until, text }: { until: number; text: string }) {
  const seconds = useSecondsUntil(until);
  return (
    <div className="notice notice--warning">
      <p role="alert">{text}</p>
      {seconds > 0 ? (
        <p role="timer">Podrás pagar en {formatCountdown(seconds)}.</p>
      ) : (
        <p role="status">Ya puedes pagar.</p>
      )}
    </div>
  );
}

type Props = {
  purchase: Purchase;
  dispatch(event: PurchaseEvent): void;
  card: RefObject<CardHandle | null>;
  dueNowCents: number;
  academy: Academy;
  onPay(): void;
  onWallet(payment: WalletPayment): void;
  onTransfer(): void;
  /** Checkboxes after the required ones. */
  children?: ReactNode;
  payable: boolean;
};

const PROCESSING = "Procesando el pago…";

// Stripe's minimum charge. The server completes cheaper orders without a card.
const CARD_MINIMUM_CENTS = 50;

/** Whether an order is completed without a card, because there is nothing to charge. */
export const needsNoCard = (dueNowCents: number): boolean => dueNowCents < CARD_MINIMUM_CENTS;

/** The checkboxes, the card form (once there is a client secret) and the pay button. */
export function PayPanel({ purchase, dispatch, card, dueNowCents, academy, ...props }: Props) {
  const { boxes, payment, contact } = purchase;
  const busy = isBusy(purchase);
  const tick = (box: keyof typeof boxes) => (isTicked: boolean) =>
    dispatch({ type: "box_ticked", box, ticked: isTicked });
  const secret =
    payment.phase === "card" || payment.phase === "confirming" ? payment.clientSecret : null;
  const payButton = useRef<HTMLButtonElement>(null);
  const phaseBefore = useRef(payment.phase);
  useEffect(() => {
    // The focus is lost when the bank's 3-D Secure frame closes: give it back to the pay button.
    const lost = document.activeElement === document.body;
    if (phaseBefore.current === "confirming" && payment.phase === "card" && lost) {
      payButton.current?.focus();
    }
    phaseBefore.current = payment.phase;
  }, [payment.phase]);
  const ticked = boxes.adult && boxes.withdrawal;
  const ready = ticked && props.payable;
  const free = needsNoCard(dueNowCents);
  const ways = waysToPay(academy, purchase.paymentType);
  const undecided = mustAcceptPrice(purchase);
  const isProcessing = ["confirming", "wallet", "finishing"].includes(payment.phase);

  const requiredBoxes = useRef<HTMLDivElement>(null);
  // The wallet was pressed before the boxes were ticked.
  const [asked, setAsked] = useState(false);
  const missing = (box: "adult" | "withdrawal") =>
    asked && !boxes[box] ? TICK_THIS_BOX : undefined;
  function mayOpenWallet(): boolean {
    if (undecided) focusRefusal();
    else if (!ready) {
      setAsked(true);
      requiredBoxes.current?.querySelector<HTMLElement>("[required]:not(:checked)")?.focus();
    }
    return canPay(purchase) && ready;
  }

  return (
    <div className="pay-panel">
      <div ref={requiredBoxes}>
        <Checkbox
          required
          checked={boxes.adult}
          disabled={busy}
          error={missing("adult")}
          onChange={tick("adult")}
        >
          He leído y acepto los <NewTabLink href="/terminos">términos y condiciones</NewTabLink> y
          soy mayor de 18 años
        </Checkbox>
        <Checkbox
          required
          checked={boxes.withdrawal}
          disabled={busy}
          error={missing("withdrawal")}
          onChange={tick("withdrawal")}
        >
          Quiero acceder desde ahora y sé que pierdo el derecho de desistimiento del contenido
          digital al empezar su suministro
        </Checkbox>
        {props.children}
      </div>

      {academy.wallets && !free && (
        <Wallets
          amountCents={dueNowCents}
          paymentType={purchase.paymentType}
          asksContact={false}
          onPress={mayOpenWallet}
          paypal={academy.paypal}
          onPay={props.onWallet}
          after={<p className="wallets__or">o paga con otro medio</p>}
        />
      )}
      {payment.phase === "none" && (
        <p className="form__note">
          {free
            ? "No hay nada que pagar: no te pedimos tarjeta ni se cobra nada."
            : academy.hostedCheckout
              ? "Al pulsar «Pagar» te llevamos a la página de Stripe. No se cobra nada hasta que lo confirmes allí."
              : "Al pulsar «Pagar» se abre el formulario de Stripe. No se cobra nada hasta que lo rellenes y lo confirmes."}
        </p>
      )}
      {payment.phase === "preparing" && (
        <Waiting>{free ? "Confirmando tu pedido..." : "Preparando opciones de pago..."}</Waiting>
      )}
      {payment.phase === "redirected" && (
        <Waiting>Te llevamos a la página de pago de Stripe...</Waiting>
      )}
      {secret && (
        <CardForm
          key={secret}
          clientSecret={secret}
          email={contact.email}
          handle={card}
          withoutWallets={academy.wallets}
          {...(ways === "tarjeta" ? {} : { label: "Datos del pago" })}
          reloadUrl={purchase.order ? recoveryUrl(purchase.order) : ""}
        />
      )}

      {purchase.paymentType === "installment" && (
        <p className="form__note">
          Al pagar a plazos aceptas que guardemos tu tarjeta en Stripe y cobremos en ella los plazos
          siguientes, cada uno en su fecha. Te avisaremos dos días antes, y podrás cambiarla o pagar
          antes.
        </p>
      )}
      <div className="pay-bar">
        {purchase.notice?.kind === "paused" && <Paused {...purchase.notice} />}
        {purchase.notice?.kind === "problem" && (
          <p className="field__error" role="alert">
            {purchase.notice.text}
          </p>
        )}
        {/* Screen readers do not report that the focused button's words change. */}
        <p className="visually-hidden" role="status">
          {isProcessing && PROCESSING}
        </p>
        <button
          ref={payButton}
          type="button"
          className="button button--large pay-bar__pay"
          disabled={!ready}
          // Not `disabled` while a payment runs: the button would lose the focus.
          aria-disabled={!canPay(purchase)}
          aria-busy={busy}
          aria-describedby="pay-meaning"
          onClick={undecided ? focusRefusal : props.onPay}
        >
          <LockIcon />
          {isProcessing
            ? PROCESSING
            : free
              ? "Confirmar sin pagar"
              : `Pagar ${formatEuros(dueNowCents)}`}
        </button>
        <p id="pay-meaning" className="pay-bar__meaning">
          {free ? "Pedido gratuito" : "Pedido con obligación de pago"}
          {undecided && <span>. Acepta antes el precio nuevo.</span>}
          {!ticked && <span>. Marca las casillas obligatorias para continuar.</span>}
        </p>
      </div>
      {academy.transfer && !free && purchase.paymentType === "full_payment" && (
        <button
          type="button"
          className="button button--plain"
          disabled={!ready}
          aria-disabled={!canPay(purchase)}
          onClick={undecided ? focusRefusal : props.onTransfer}
        >
          Pagar por transferencia
        </button>
      )}
      <PrivacyNote academy={academy} purpose={PURCHASE_PURPOSE} />
    </div>
  );
}

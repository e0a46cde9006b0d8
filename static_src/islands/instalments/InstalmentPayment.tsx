import { useEffect, useRef, useState } from "react";
import { ApiError } from "../../lib/http/api";
import { LockIcon } from "../../lib/icons";
import { toast } from "../../lib/page/toast";
import { formatEuros } from "../../lib/pricing/money";
import type { InstalmentPlan } from "../../schemas/instalments";
import { CardForm, type CardHandle, type CardOutcome, confirmSavedCard } from "../payment/CardForm";
import { completePayment, successUrl } from "../payment/checkoutApi";
import { BANK_DECLINED } from "../payment/refusals";
import { useOneAtATime } from "../payment/useOneAtATime";
import {
  errorMessage,
  type Link,
  needsAttention,
  type PlanAction,
  payLabels,
  planMessage,
  reportCardSaved,
  type StartedPayment,
  savedCardMessage,
  startPayment,
} from "./instalmentPlan";

type Props = { plan: InstalmentPlan; link: Link; onChange(): Promise<void> };
type Open = StartedPayment & { action: PlanAction };

const PAID = "¡Pago exitoso!";
const ASK_BANK_EVERY_MS = 10_000;
const NOT_READY = "El formulario de pago no está listo...";

/** Buttons to pay the next instalment, pay all of them or change the card; then the card form. */
export function InstalmentPayment({ plan, link, onChange }: Props) {
  const [open, setOpen] = useState<Open | null>(null);
  const [busy, setBusy] = useState(false);
  // The saved card pays in one press. With another card, the card form opens first.
  const [otherCard, setOtherCard] = useState(false);
  const withSavedCard = plan.cardPays && !otherCard;
  const [error, setError] = useState("");
  const card = useRef<CardHandle | null>(null);
  const oneAtATime = useOneAtATime();
  const heading = useRef<HTMLParagraphElement>(null);
  const previousOpen = useRef(open);

  // The pressed button has been replaced: focus the text in its place.
  useEffect(() => {
    if (previousOpen.current !== open) heading.current?.focus();
    previousOpen.current = open;
  }, [open]);

  // While the bank confirms a payment, load the plan again until the bank has decided.
  const paidWhileWaiting = useRef<number | null>(null);
  useEffect(() => {
    const paid = plan.instalments.filter((instalment) => instalment.state === "paid").length;
    if (plan.inProgress) {
      paidWhileWaiting.current = paid;
      const timer = setInterval(onChange, ASK_BANK_EVERY_MS);
      return () => clearInterval(timer);
    }
    if (paidWhileWaiting.current === null) return;
    if (paid > paidWhileWaiting.current) toast({ title: PAID, tone: "success" });
    else setError(BANK_DECLINED);
    paidWhileWaiting.current = null;
  }, [plan, onChange]);

  const run = (action: () => Promise<void>) =>
    oneAtATime(async () => {
      setBusy(true);
      setError("");
      try {
        await action();
      } catch (problem) {
        setError(errorMessage(problem));
        // 409: an instalment has been charged or paid elsewhere since the plan was loaded. Load it
        // again.
        if (problem instanceof ApiError && problem.status === 409) await onChange();
      } finally {
        setBusy(false);
      }
    });

  const choose = (action: PlanAction) =>
    run(async () => {
      const started = { ...(await startPayment(action, plan, link)), action };
      if (!withSavedCard || !started.savedCard) return setOpen(started);
      await finish(started, await confirmSavedCard(started.clientSecret, started.savedCard));
    });

  const confirm = (started: Open) =>
    run(async () => {
      if (!card.current) return setError(NOT_READY);
      const back = started.action === "card" ? "/plazos" : successUrl(started.reference);
      const outcome = await card.current.confirm(`${window.location.origin}${back}`);
      await finish(started, outcome);
    });

  async function finish({ action, reference }: Open, outcome: CardOutcome): Promise<void> {
    if (outcome.kind === "declined") {
      setError(outcome.text);
      if (outcome.final) {
        setOpen(null);
        await onChange();
      }
      return;
    }
    // Stripe has charged or saved the card, or the bank is confirming the payment. If telling the
    // server fails, the webhook will tell it later.
    const done = action === "card" ? "Tarjeta cambiada" : PAID;
    const recorded = await (action === "card"
      ? reportCardSaved(link, reference)
      : completePayment(reference)
    ).then(
      () => true,
      () => false,
    );
    if (outcome.kind === "charged") {
      toast(
        recorded
          ? { title: done, tone: "success" }
          : { title: done, text: "En unos minutos lo verás aquí.", tone: "success" },
      );
    }
    setOpen(null);
    setOtherCard(false);
    await onChange();
  }

  if (plan.nextCents === 0) {
    return (
      <p className="notice notice--success" ref={heading} tabIndex={-1}>
        {plan.status === "paid"
          ? "Has pagado todos los plazos. ¡Gracias!"
          : "Este pedido no tiene plazos pendientes."}
      </p>
    );
  }
  if (plan.inProgress) {
    return (
      <p className="notice" ref={heading} tabIndex={-1}>
        Tu banco está confirmando un pago. Puede tardar unos minutos; no hace falta que pagues otra
        vez.
      </p>
    );
  }
  return (
    <div className="pay-panel">
      <p
        className={!open && needsAttention(plan) ? "notice notice--warning" : undefined}
        ref={heading}
        tabIndex={-1}
      >
        {open ? EXPLANATIONS[open.action](plan) : planMessage(plan)}
      </p>
      {open && (
        <CardForm key={open.clientSecret} clientSecret={open.clientSecret} email="" handle={card} />
      )}
      {error && (
        <p className="field__error" role="alert">
          {error}
        </p>
      )}
      {open ? (
        <>
          <button
            type="button"
            className="button button--large"
            aria-disabled={busy}
            aria-busy={busy}
            onClick={() => confirm(open)}
          >
            <LockIcon />
            {open.action === "card" ? "Guardar la tarjeta" : `Pagar ${formatEuros(open.cents)}`}
          </button>
          <button
            type="button"
            className="button button--plain"
            disabled={busy}
            onClick={() => {
              setOpen(null);
              setOtherCard(false);
            }}
          >
            Volver a mis plazos
          </button>
        </>
      ) : (
        <>
          {withSavedCard && <p>{savedCardMessage(plan)}</p>}
          {payLabels(plan).map(({ action, label }, index) => (
            <button
              key={action}
              type="button"
              className={`button ${index > 0 ? "button--quiet" : ""}`}
              aria-disabled={busy}
              aria-busy={busy}
              onClick={() => choose(action)}
            >
              {label}
            </button>
          ))}
          {plan.cardPays && (
            <button
              type="button"
              className="button button--quiet"
              aria-disabled={busy}
              onClick={() => setOtherCard(!otherCard)}
            >
              {otherCard ? "Pagar con la tarjeta guardada" : "Pagar con otra tarjeta"}
            </button>
          )}
          <button
            type="button"
            className="button button--quiet"
            aria-disabled={busy}
            onClick={() => choose("card")}
          >
            Cambiar la tarjeta
          </button>
        </>
      )}
    </div>
  );
}

/** What confirming the card form does, by action. */
const EXPLANATIONS: Record<PlanAction, (plan: InstalmentPlan) => string> = {
  next: (plan) =>
    plan.restCents > plan.nextCents
      ? "Guardaremos esta tarjeta en Stripe y cobraremos en ella, en su fecha, los plazos que quedan."
      : "Con este pago terminas tu plan.",
  all: () => "Con este pago terminas tu plan: no habrá más cobros.",
  card: () =>
    "No se cobra nada por guardarla. Cobraremos en ella los plazos pendientes en su fecha; si hay alguno que no se pudo cobrar, lo cobraremos hoy.",
};

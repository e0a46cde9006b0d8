import { useEffect, useRef, useState } from "react";
import { ApiError } from "../../lib/api";
import { LockIcon } from "../../lib/icons";
import { formatEuros } from "../../lib/money";
import { toast } from "../../lib/toast";
import type { Plan } from "../../schemas/instalments";
import { CardForm, type CardHandle } from "../payment/CardForm";
import { completePayment, successUrl } from "../payment/calls";
import {
  type Action,
  invitation,
  type Link,
  needsAttention,
  payLabels,
  type Started,
  sentenceOf,
  start,
  tellCardSaved,
} from "./plan";

type Props = { plan: Plan; link: Link; onChange(): Promise<void> };
type Open = Started & { action: Action };

const NOT_READY = "El formulario de pago no está listo...";

/** Choose what to pay, or another card; then the card form and one button that does it. */
export function Payment({ plan, link, onChange }: Props) {
  const [open, setOpen] = useState<Open | null>(null);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState("");
  const card = useRef<CardHandle | null>(null);
  // State arrives with the next render; a second click may come before it.
  const working = useRef(false);
  const heading = useRef<HTMLParagraphElement>(null);
  const shown = useRef(open);

  // What was pressed has gone: the focus goes on to what took its place.
  useEffect(() => {
    if (shown.current !== open) heading.current?.focus();
    shown.current = open;
  }, [open]);

  async function alone(work: () => Promise<void>) {
    if (working.current) return;
    working.current = true;
    setBusy(true);
    setError("");
    try {
      await work();
    } catch (problem) {
      setError(sentenceOf(problem));
      // Charged or paid elsewhere since the page was read: it shows how things stand.
      if (problem instanceof ApiError && problem.status === 409) await onChange();
    } finally {
      working.current = false;
      setBusy(false);
    }
  }

  const choose = (action: Action) =>
    alone(async () => setOpen({ ...(await start(action, plan, link)), action }));

  const confirm = ({ action, reference }: Open) =>
    alone(async () => {
      if (!card.current) return setError(NOT_READY);
      const back = action === "card" ? "/plazos" : successUrl(reference);
      const outcome = await card.current.confirm(`${window.location.origin}${back}`);
      if (outcome.kind === "refused") {
        setError(outcome.text);
        if (outcome.final) setOpen(null);
        return;
      }
      // The card provider has done its part: what the shop may not have heard it will hear later.
      const done = action === "card" ? "Tarjeta cambiada" : "¡Pago exitoso!";
      const told = await (action === "card"
        ? tellCardSaved(link, reference)
        : completePayment(reference)
      ).then(
        () => true,
        () => false,
      );
      toast(
        told
          ? { title: done, tone: "success" }
          : { title: done, text: "En unos minutos lo verás aquí.", tone: "success" },
      );
      setOpen(null);
      await onChange();
    });

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
        Tu banco está confirmando un pago. Vuelve a mirar dentro de unos minutos.
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
        {open ? MEANING[open.action](plan) : invitation(plan)}
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
            onClick={() => setOpen(null)}
          >
            Volver a mis plazos
          </button>
        </>
      ) : (
        <>
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

const MEANING: Record<Action, (plan: Plan) => string> = {
  next: (plan) =>
    plan.restCents > plan.nextCents
      ? "Guardaremos esta tarjeta en Stripe y cobraremos en ella, en su fecha, los plazos que quedan."
      : "Con este pago terminas tu plan.",
  all: () => "Con este pago terminas tu plan: no habrá más cobros.",
  card: () =>
    "No se cobra nada por guardarla. Cobraremos en ella los plazos pendientes en su fecha; si hay alguno que no se pudo cobrar, lo cobraremos hoy.",
};

import { useEffect, useRef, useState } from "react";
import { post } from "../../lib/api";
import type { CalculatorQuote } from "../../lib/calculator";
import { EmailField, PrivacyNote } from "../../lib/fields";
import { Honeypot, PhoneField, SubmitButton, useLeadForm } from "../../lib/forms";
import { BackIcon } from "../../lib/icons";
import { formatEuros } from "../../lib/money";
import { toast } from "../../lib/toast";
import { vatSentence } from "../../lib/vatNote";
import type { Academy } from "../../schemas/academy";
import { BudgetContact, SentBudget } from "../../schemas/budget";
import type { Pricing } from "../../schemas/pricing";
import { type Budget, budgetPayload, chosenSubjects, quote } from "./state";

type Props = {
  budget: Budget;
  onBack(): void;
  academy: Academy;
  pricing: Pricing;
  dateRange: string;
};

type BudgetPrice = CalculatorQuote & {
  subjects: { id: number; name: string; priceCents: number }[];
};

/** Step 3: the price, blurred until the visitor has had it sent by e-mail. */
export function Results({ budget, onBack, academy, pricing, dateRange }: Props) {
  const [asking, setAsking] = useState(false);
  // After sending, show the figures that the server computed: the e-mail has the same.
  const [sent, setSent] = useState<BudgetPrice | null>(null);
  const done = useRef<HTMLParagraphElement>(null);
  const estimate: BudgetPrice = { subjects: chosenSubjects(budget), ...quote(pricing, budget) };

  useEffect(() => {
    if (sent) done.current?.focus();
  }, [sent]);

  async function send(contact: { email: string; phone: string; website: string }) {
    const payload = { ...budgetPayload(budget, estimate, dateRange), ...contact };
    setSent((await post("/api/send-budget-email", payload, SentBudget)) ?? estimate);
    toast({
      title: "¡Perfect! Tu presupuesto ha sido enviado a tu email. Te contactaremos pronto.",
      tone: "success",
    });
  }

  return (
    <div className="calculator__results">
      <button type="button" className="button button--plain calculator__back" onClick={onBack}>
        <BackIcon />
        Volver
      </button>
      {sent && (
        <p className="notice notice--success" ref={done} tabIndex={-1}>
          ¡Presupuesto enviado a tu email! Te contactaremos pronto.
        </p>
      )}
      <div className="calculator__stack">
        <Figures budget={budget} result={sent ?? estimate} hidden={!sent} />
        {!sent && (
          <div className="calculator__cover">
            {asking ? (
              <ContactOverlay academy={academy} send={send} />
            ) : (
              <button
                type="button"
                className="button button--large"
                onClick={() => setAsking(true)}
              >
                Ver presupuesto completo
              </button>
            )}
          </div>
        )}
      </div>
    </div>
  );
}

type FiguresProps = { budget: Budget; result: BudgetPrice; hidden: boolean };

function Figures({ budget, result, hidden }: FiguresProps) {
  return (
    <div className="calculator__figures" data-blurred={hidden || undefined} inert={hidden}>
      <ul className="calculator__lines">
        {result.subjects.map(({ id, name, priceCents }) => (
          <li key={id}>
            <span>{name}</span>
            <span className="price price--plain">{formatEuros(priceCents)}</span>
          </li>
        ))}
      </ul>
      <dl className="calculator__lines">
        <div>
          <dt>Precio base</dt>
          <dd className="price">{formatEuros(result.baseCents)}</dd>
        </div>
        {result.discounts.map(({ name, amountCents }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd className="price price--off">−{formatEuros(amountCents)}</dd>
          </div>
        ))}
        <div className="calculator__total">
          <dt>Precio final</dt>
          <dd className="price">{formatEuros(result.finalCents)}</dd>
        </div>
      </dl>
      <p className="form__note">
        {vatSentence()}.
        {budget.wasInvited && " Los descuentos por invitación están sujetos a comprobación."}
      </p>
    </div>
  );
}

type OverlayProps = {
  academy: Academy;
  send(contact: { email: string; phone: string; website: string }): Promise<void>;
};

/** The contact form over the blurred price. Its fields are disabled while the budget is sent. */
function ContactOverlay({ academy, send }: OverlayProps) {
  const { errors, sending, attributes } = useLeadForm(
    BudgetContact,
    send,
    "Error al enviar el presupuesto",
  );
  const form = attributes.ref;

  useEffect(() => {
    (form.current?.elements.namedItem("email") as HTMLElement | null)?.focus();
  }, [form]);

  return (
    <form className="form calculator__contact card" {...attributes}>
      <p className="calculator__ask">¿A dónde te enviamos el presupuesto?</p>
      <EmailField disabled={sending} error={errors.email} />
      <PhoneField disabled={sending} error={errors.phone} />
      <Honeypot />
      <SubmitButton sending={sending}>Enviar presupuesto</SubmitButton>
      <p className="calculator__sending" role="status">
        {sending && "Guardando tu presupuesto y enviándolo por email..."}
      </p>
      <PrivacyNote
        academy={academy}
        purpose="enviarte este presupuesto y hablar contigo sobre él"
      />
    </form>
  );
}

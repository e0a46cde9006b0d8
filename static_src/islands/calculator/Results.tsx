import { useEffect, useRef, useState } from "react";
import { EmailField, PrivacyNote } from "../../lib/forms/fields";
import { Honeypot, PhoneField, SubmitButton, useLeadForm } from "../../lib/forms/leadForm";
import { post } from "../../lib/http/api";
import { BackIcon } from "../../lib/icons";
import { QUOTE_CONTACT, trySessionStorage } from "../../lib/page/sessionStorage";
import { toast } from "../../lib/page/toast";
import { type CalculatorQuote, isOnlyInCalculator } from "../../lib/pricing/calculator";
import { campaignFor, campaignName } from "../../lib/pricing/discounts";
import { formatEuros } from "../../lib/pricing/money";
import { vatSentence } from "../../lib/pricing/vatNote";
import type { Academy } from "../../schemas/academy";
import { type BindingPart, BudgetContact, SentBudget } from "../../schemas/budget";
import type { Campaign, Pricing } from "../../schemas/pricing";
import { type Budget, budgetPayload, chosenDegree, chosenSubjects, quote } from "./state";

type Props = {
  budget: Budget;
  onBack(): void;
  academy: Academy;
  pricing: Pricing;
  dateRange: string;
};

type BudgetPrice = CalculatorQuote & {
  subjects: { id: number; name: string; priceCents: number }[];
  /** Of a budget that was sent. */
  binding?: BindingPart | undefined;
};

const longDate = new Intl.DateTimeFormat("es-ES", { dateStyle: "long", timeZone: "Europe/Madrid" });

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
    const answer = await post("/api/send-budget-email", payload, SentBudget);
    setSent(answer ?? estimate);
    // The shop fills its form with this data when the quote's link is opened in this tab.
    const { email, phone } = contact;
    const kept = JSON.stringify({ path: answer?.binding?.path, email, phone });
    trySessionStorage((storage) => storage.setItem(QUOTE_CONTACT, kept));
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
        <Figures
          budget={budget}
          result={sent ?? estimate}
          campaign={campaignFor(pricing, chosenDegree(budget), "calculator")}
          hidden={!sent}
        />
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
      {sent?.binding && <Guarantee {...sent.binding} />}
    </div>
  );
}

/** What the mail says about the price that binds, and the way into the shop. */
function Guarantee({ path, paymentType, validUntil, priceCents, unchecked }: BindingPart) {
  const names = unchecked.map(({ name, amountCents }) => `«${name}» (${formatEuros(amountCents)})`);
  const how = paymentType === "full_payment" ? "con pago completo" : "a plazos";
  return (
    <>
      <div className="notice calculator__guarantee">
        <p>
          <strong>Precio garantizado: {formatEuros(priceCents)}</strong> hasta el{" "}
          {longDate.format(validUntil)}, para estas mismas asignaturas y {how}.
        </p>
        {names.length > 0 && (
          <p>
            No incluye {names.join(" ni ")}: los descuentos por invitación están sujetos a
            comprobación y los confirmamos contigo.
          </p>
        )}
      </div>
      <a className="button button--large" href={path}>
        Abrir la tienda con estas asignaturas
      </a>
    </>
  );
}

type FiguresProps = {
  budget: Budget;
  result: BudgetPrice;
  campaign: Campaign | null;
  hidden: boolean;
};

function Figures({ budget, result, campaign, hidden }: FiguresProps) {
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
        {isOnlyInCalculator(campaign) &&
          ` El «${campaignName(campaign)}» se resta aquí del precio de la tienda, y solo lo tienes si compras con este presupuesto.`}
        {hidden &&
          (budget.wasInvited || budget.friends > 0) &&
          " Los descuentos por invitación están sujetos a comprobación."}
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

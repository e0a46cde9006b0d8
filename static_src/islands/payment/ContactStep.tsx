import { type FormEvent, useRef, useState } from "react";
import { Check, Field, NewTab } from "../../lib/fields";
import { toast } from "../../lib/toast";
import type { Academy } from "../../schemas/academy";
import {
  type Contact,
  type ContactErrors,
  cleanPhone,
  cleanPrefix,
  contactErrors,
  FIELD_ORDER,
} from "./contact";

type Props = {
  contact: Contact;
  /** What the server said of single fields. */
  refused: ContactErrors;
  academy: Academy;
  onEdit(contact: Contact): void;
  onNext(): void;
};

/** Step 1: who buys. Its rules are in `contact.ts`. */
export function ContactStep({ contact, refused, academy, onEdit, onNext }: Props) {
  const form = useRef<HTMLFormElement>(null);
  // Nobody is corrected before they have tried; from then on the messages follow the typing.
  const [tried, setTried] = useState(false);
  const errors: ContactErrors = { ...refused, ...(tried ? contactErrors(contact) : {}) };
  const edit = (change: Partial<Contact>) => onEdit({ ...contact, ...change });

  function submit(event: FormEvent) {
    event.preventDefault();
    const found = contactErrors(contact);
    const first = FIELD_ORDER.find((field) => found[field]);
    if (!first) return onNext();
    setTried(true);
    toast({ title: "Error", text: found[first] ?? "", tone: "error" });
    (form.current?.elements.namedItem(first) as HTMLElement | null)?.focus();
  }

  return (
    <form className="purchase__contact" ref={form} onSubmit={submit} noValidate>
      <p className="purchase__lead">
        Te enviaremos a este correo la confirmación y el acceso a tus asignaturas.
      </p>
      <Field
        label="Correo electrónico"
        name="email"
        type="email"
        inputMode="email"
        autoComplete="email"
        placeholder="tu@email.com"
        required
        value={contact.email}
        error={errors.email}
        onChange={(event) => edit({ email: event.target.value })}
      />
      <div className="purchase__phone">
        <Field
          label="Prefijo"
          name="prefix"
          type="text"
          inputMode="numeric"
          autoComplete="tel-country-code"
          required
          value={contact.prefix}
          error={errors.prefix}
          onChange={(event) => edit({ prefix: cleanPrefix(event.target.value) })}
        />
        <Field
          label="Teléfono"
          name="phone"
          type="tel"
          inputMode="numeric"
          autoComplete="tel-national"
          required
          value={contact.phone}
          error={errors.phone}
          onChange={(event) => edit({ phone: cleanPhone(event.target.value, contact.prefix) })}
        />
      </div>
      <div>
        <Check
          name="termsAccepted"
          required
          checked={contact.termsAccepted}
          error={errors.termsAccepted}
          onChange={(termsAccepted) => edit({ termsAccepted })}
        >
          Acepto los <NewTab href="/terminos">términos y condiciones</NewTab>
        </Check>
        <Check
          name="privacyAccepted"
          required
          checked={contact.privacyAccepted}
          error={errors.privacyAccepted}
          onChange={(privacyAccepted) => edit({ privacyAccepted })}
        >
          Acepto la <NewTab href="/privacidad">política de privacidad</NewTab>
        </Check>
      </div>
      <button type="submit" className="button button--large">
        Continuar
      </button>
      <PrivacyNote academy={academy} />
    </form>
  );
}

/** Who processes the data and why, at the button (decisions, "Forms and leads"). */
export function PrivacyNote({ academy }: { academy: Academy }) {
  return (
    <p className="purchase__note">
      {academy.legalName} trata tus datos para gestionar tu compra y darte acceso; el cobro con
      tarjeta lo procesa Stripe. Más en la{" "}
      <NewTab href="/privacidad">información sobre privacidad</NewTab>.
    </p>
  );
}

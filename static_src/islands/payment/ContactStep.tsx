import { type FormEvent, useRef, useState } from "react";
import {
  Checkbox,
  EmailField,
  Field,
  PrivacyLabel,
  PrivacyNote,
  TermsLabel,
} from "../../lib/fields";
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

/** Completes the sentence of `PrivacyNote`. */
export const PURCHASE_PURPOSE =
  "gestionar tu compra y darte acceso; el cobro con tarjeta lo procesa Stripe";

type Props = {
  contact: Contact;
  /** The server's messages for single fields. */
  serverErrors: ContactErrors;
  academy: Academy;
  onEdit(contact: Contact): void;
  onNext(): void;
};

/** Step 1 of the payment dialog: the buyer's contact data. `contact.ts` validates them. */
export function ContactStep({ contact, serverErrors, academy, onEdit, onNext }: Props) {
  const form = useRef<HTMLFormElement>(null);
  // Messages appear only after the first submit. From then on they are updated while typing.
  const [submitted, setSubmitted] = useState(false);
  const errors: ContactErrors = { ...serverErrors, ...(submitted ? contactErrors(contact) : {}) };
  const edit = (change: Partial<Contact>) => onEdit({ ...contact, ...change });

  function submit(event: FormEvent) {
    event.preventDefault();
    const found = contactErrors(contact);
    const first = FIELD_ORDER.find((field) => found[field]);
    if (!first) return onNext();
    setSubmitted(true);
    toast({ title: "Error", text: found[first] ?? "", tone: "error" });
    (form.current?.elements.namedItem(first) as HTMLElement | null)?.focus();
  }

  return (
    <form className="purchase__contact" ref={form} onSubmit={submit} noValidate>
      <p className="form__lead">
        Te enviaremos a este correo la confirmación y el acceso a tus asignaturas.
      </p>
      <EmailField
        label="Correo electrónico"
        inputMode="email"
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
        {ACCEPTANCES.map((field) => (
          <AcceptanceCheckbox key={field} {...{ field, contact, errors, onEdit }} />
        ))}
      </div>
      <button type="submit" className="button button--large">
        Continuar
      </button>
      <PrivacyNote academy={academy} purpose={PURCHASE_PURPOSE} />
    </form>
  );
}

export const ACCEPTANCES = ["termsAccepted", "privacyAccepted"] as const;

type AcceptanceProps = {
  field: (typeof ACCEPTANCES)[number];
  contact: Contact;
  errors: ContactErrors;
  disabled?: boolean;
  onEdit(contact: Contact): void;
};

/** The checkbox that accepts the terms, or the privacy policy. */
export function AcceptanceCheckbox({
  field,
  contact,
  errors,
  disabled = false,
  onEdit,
}: AcceptanceProps) {
  return (
    <Checkbox
      name={field}
      required
      checked={contact[field]}
      disabled={disabled}
      error={errors[field]}
      onChange={(accepted) => onEdit({ ...contact, [field]: accepted })}
    >
      {field === "termsAccepted" ? <TermsLabel /> : <PrivacyLabel />}
    </Checkbox>
  );
}

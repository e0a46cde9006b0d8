import { type FormEvent, useEffect, useRef, useState } from "react";
import { suggestEmail } from "../../lib/emailTypos";
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
  type ContactField,
  cleanPrefix,
  contactErrors,
  FIELD_ORDER,
  typedPhone,
} from "./contact";

/** Completes the sentence of `PrivacyNote`. */
export const PURCHASE_PURPOSE =
  "gestionar tu compra y darte acceso; el cobro con tarjeta lo procesa Stripe";

type Props = {
  contact: Contact;
  /** The server's messages for single fields. */
  serverErrors: ContactErrors;
  academy: Academy;
  /** The field that gets the focus when the step is shown; the heading gets it otherwise. */
  startAt: ContactField | null;
  onEdit(contact: Contact): void;
  onNext(): void;
};

/** Step 1 of the payment dialog: the buyer's contact data. `contact.ts` validates them. */
export function ContactStep({ contact, serverErrors, academy, startAt, onEdit, onNext }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const focus = (field: ContactField) =>
    (form.current?.elements.namedItem(field) as HTMLElement | null)?.focus();
  const first = startAt ?? FIELD_ORDER.find((field) => serverErrors[field]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the step is shown.
  useEffect(() => {
    // The dialog focuses its heading first.
    if (first) queueMicrotask(() => focus(first));
  }, []);
  // The address that the buyer has confirmed although it looks mistyped.
  const [confirmed, setConfirmed] = useState("");
  const suggestion = confirmed === contact.email ? null : suggestEmail(contact.email);
  // Ask once the buyer goes on. A question that appears earlier would move what is being pressed.
  const [asking, setAsking] = useState(false);
  const question = useRef<HTMLDivElement>(null);
  function answer(email: string) {
    setConfirmed(email);
    setAsking(false);
    edit({ email });
    focus("phone");
  }
  // Messages appear only after the first submit. From then on they are updated while typing.
  const [submitted, setSubmitted] = useState(false);
  const errors: ContactErrors = { ...serverErrors, ...(submitted ? contactErrors(contact) : {}) };
  const edit = (change: Partial<Contact>) => onEdit({ ...contact, ...change });

  function submit(event: FormEvent) {
    event.preventDefault();
    const found = contactErrors(contact);
    const invalid = FIELD_ORDER.find((field) => found[field]);
    if (invalid) {
      setSubmitted(true);
      toast({ title: "Error", text: found[invalid] ?? "", tone: "error" });
      focus(invalid);
    } else if (suggestion) {
      setAsking(true);
      queueMicrotask(() => question.current?.querySelector("button")?.focus());
    } else onNext();
  }

  return (
    <form className="purchase__contact" ref={form} onSubmit={submit} noValidate>
      <p className="form__lead">
        Te enviaremos a este email la confirmación y el acceso a tus asignaturas.
      </p>
      <EmailField
        label="Email"
        inputMode="email"
        value={contact.email}
        error={errors.email}
        onChange={(event) => {
          setAsking(false);
          edit({ email: event.target.value });
        }}
      />
      {asking && suggestion && (
        <div className="notice purchase__question" role="status" ref={question}>
          <p>
            ¿Querías escribir <strong>{suggestion}</strong>?
          </p>
          <button type="button" className="button button--quiet" onClick={() => answer(suggestion)}>
            Sí, corregirlo
          </button>
          <button
            type="button"
            className="button button--plain"
            onClick={() => answer(contact.email)}
          >
            No, es correcto
          </button>
        </div>
      )}
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
          onFocus={() => setAsking(true)}
          onChange={(event) => edit(typedPhone(event.target.value, contact.prefix))}
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

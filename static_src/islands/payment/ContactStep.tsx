import { type FormEvent, useEffect, useRef, useState } from "react";
import {
  Checkbox,
  EmailField,
  Field,
  PrivacyLabel,
  PrivacyNote,
  TermsLabel,
} from "../../lib/forms/fields";
import { toast } from "../../lib/page/toast";
import type { Academy } from "../../schemas/academy";
import {
  type Contact,
  type ContactErrors,
  cleanPrefix,
  contactErrors,
  typedPhone,
} from "./contact";
import { suggestEmail } from "./emailTypos";
import { GiftFields } from "./GiftFields";
import { type Gift, giftErrors, STEP_ORDER, type StepErrors, type StepField } from "./gift";

/** Completes the sentence of `PrivacyNote`. */
export const PURCHASE_PURPOSE = "gestionar tu compra y darte acceso; los cobros los procesa Stripe";

type Props = {
  contact: Contact;
  gift: Gift | null;
  /** The server's messages for single fields. */
  serverErrors: StepErrors;
  academy: Academy;
  /** The field that gets the focus when the step is shown; the heading gets it otherwise. */
  startAt: StepField | null;
  onEdit(contact: Contact): void;
  /** Without it the order stays the gift that it is. */
  onGiftEdit?: (gift: Gift | null) => void;
  onNext(): void;
  /** Without it the only way on is a valid form. */
  onCancel?: () => void;
};

/** Step 1 of the payment dialog: the buyer's contact data. `contact.ts` validates them. */
export function ContactStep({ contact, gift, serverErrors, academy, startAt, ...props }: Props) {
  const { onEdit, onGiftEdit, onNext } = props;
  const form = useRef<HTMLFormElement>(null);
  const focus = (field: StepField) =>
    (form.current?.elements.namedItem(field) as HTMLElement | null)?.focus();
  const first = startAt ?? STEP_ORDER.find((field) => serverErrors[field]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: only when the step is shown.
  useEffect(() => {
    // The dialog focuses its heading first.
    if (first) queueMicrotask(() => focus(first));
  }, []);
  // A wallet's contact data, or a gift, are refused while this step is open.
  useEffect(() => {
    const refused = STEP_ORDER.find((field) => serverErrors[field]);
    if (refused) (form.current?.elements.namedItem(refused) as HTMLElement | null)?.focus();
  }, [serverErrors]);
  // The addresses that the buyer has confirmed although they look mistyped.
  const [confirmed, setConfirmed] = useState<string[]>([]);
  const suggestionFor = (email: string) => (confirmed.includes(email) ? null : suggestEmail(email));
  const suggestion = suggestionFor(contact.email);
  const giftSuggestion = gift && suggestionFor(gift.email);
  // Ask once the buyer goes on. A question that appears earlier would move what is being pressed.
  const [asking, setAsking] = useState(false);
  function answer(email: string) {
    setConfirmed([...confirmed, email]);
    setAsking(false);
    edit({ email });
    focus("phone");
  }
  function answerForGift(email: string) {
    setConfirmed([...confirmed, email]);
    if (gift) onGiftEdit?.({ ...gift, email });
    focus("gift.deliver_on");
  }
  // Messages appear only after the first submit. From then on they are updated while typing.
  const [submitted, setSubmitted] = useState(false);
  const found = { ...contactErrors(contact), ...giftErrors(gift, contact.email) };
  const errors: StepErrors = { ...serverErrors, ...(submitted ? found : {}) };
  const edit = (change: Partial<Contact>) => onEdit({ ...contact, ...change });

  function submit(event: FormEvent) {
    event.preventDefault();
    const invalid = STEP_ORDER.find((field) => found[field]);
    if (invalid) {
      setSubmitted(true);
      toast({ title: "Error", text: found[invalid] ?? "", tone: "error" });
      focus(invalid);
    } else if (suggestion || giftSuggestion) {
      setAsking(true);
      queueMicrotask(() =>
        form.current?.querySelector<HTMLElement>(".purchase__question button")?.focus(),
      );
    } else onNext();
  }

  return (
    <form className="purchase__contact" ref={form} onSubmit={submit} noValidate>
      <p className="form__lead">
        {gift
          ? "Te enviaremos a este email la confirmación."
          : "Te enviaremos a este email la confirmación y el acceso a tus asignaturas."}
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
        <EmailQuestion suggestion={suggestion} typed={contact.email} onAnswer={answer} />
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
      {onGiftEdit && (
        <GiftFields
          gift={gift}
          errors={errors}
          onEdit={onGiftEdit}
          question={
            asking &&
            gift &&
            giftSuggestion && (
              <EmailQuestion
                suggestion={giftSuggestion}
                typed={gift.email}
                onAnswer={answerForGift}
              />
            )
          }
        />
      )}
      <div>
        {ACCEPTANCES.map((field) => (
          <AcceptanceCheckbox key={field} {...{ field, contact, errors, onEdit }} />
        ))}
      </div>
      <button type="submit" className="button button--large">
        Continuar
      </button>
      {props.onCancel && (
        <button type="button" className="button button--quiet" onClick={props.onCancel}>
          Volver sin cambiar
        </button>
      )}
      <PrivacyNote academy={academy} purpose={PURCHASE_PURPOSE} />
    </form>
  );
}

type QuestionProps = { suggestion: string; typed: string; onAnswer(email: string): void };

/** Asks whether a mistyped address was meant. */
function EmailQuestion({ suggestion, typed, onAnswer }: QuestionProps) {
  return (
    <div className="notice purchase__question" role="status">
      <p>
        ¿Querías escribir <strong>{suggestion}</strong>?
      </p>
      <button type="button" className="button button--quiet" onClick={() => onAnswer(suggestion)}>
        Sí, corregirlo
      </button>
      <button type="button" className="button button--plain" onClick={() => onAnswer(typed)}>
        No, es correcto
      </button>
    </div>
  );
}

const ACCEPTANCES = ["termsAccepted", "privacyAccepted"] as const;

type AcceptanceProps = {
  field: (typeof ACCEPTANCES)[number];
  contact: Contact;
  errors: ContactErrors;
  onEdit(contact: Contact): void;
};

/** The checkbox that accepts the terms, or the privacy policy. */
function AcceptanceCheckbox({ field, contact, errors, onEdit }: AcceptanceProps) {
  return (
    <Checkbox
      name={field}
      required
      checked={contact[field]}
      error={errors[field]}
      onChange={(accepted) => onEdit({ ...contact, [field]: accepted })}
    >
      {field === "termsAccepted" ? <TermsLabel /> : <PrivacyLabel />}
    </Checkbox>
  );
}

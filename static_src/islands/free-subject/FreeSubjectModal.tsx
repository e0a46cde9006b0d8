import { type FormEvent, useEffect, useState } from "react";
import * as z from "zod/mini";
import { post } from "../../lib/api";
import { Check, Field } from "../../lib/fields";
import { Honeypot, PrivacyNote, refusal, TermsWords } from "../../lib/forms";
import { ModalButton } from "../../lib/modal";
import { toast } from "../../lib/toast";
import type { Academy } from "../../schemas/academy";
import { FreeSubjectRequest, Sent } from "../../schemas/leads";

const READ_ONLY_MS = 500;
// Browsers let "ana@casa" pass as an address, and a blank as an answer.
const EMAIL_PATTERN = String.raw`[^\s@]+@[^\s@]+\.[^\s@]+`;
const NOT_BLANK = String.raw`.*\S.*`;
const FAILURE = "Hubo un problema al enviar tu solicitud. Por favor, inténtalo de nuevo.";

/** The header's button and its dialog. It arrives with the first press: open. */
export function FreeSubjectModal({ academy }: { academy: Academy }) {
  return (
    <ModalButton
      label="Asignatura gratis"
      className="header__free"
      title="Solicita tu asignatura gratis!"
    >
      {(close) => <RequestForm academy={academy} onDone={close} />}
    </ModalButton>
  );
}

/**
 * The browser's own checks and words are the rule here (site spec, section 5): no messages of
 * ours, and no more can be typed than the server takes. On submit the dialog closes and is empty the next time, whatever the server
 * says; only a failure is told.
 */
function RequestForm({ academy, onDone }: { academy: Academy; onDone(): void }) {
  const [readOnly, setReadOnly] = useState(true);
  const [termsAccepted, setTermsAccepted] = useState(false);

  useEffect(() => {
    const timer = setTimeout(() => setReadOnly(false), READ_ONLY_MS);
    return () => clearTimeout(timer);
  }, []);

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    // Browsers don't check what is read-only.
    if (readOnly) return;
    const request = z.parse(
      FreeSubjectRequest,
      Object.fromEntries(new FormData(event.currentTarget)),
    );
    onDone();
    post("/api/request-free-subject", request, Sent).catch((error) =>
      toast({ title: "Error", text: refusal(error, FAILURE), tone: "error" }),
    );
  }

  return (
    <form className="form" onSubmit={submit}>
      <Field
        label="Email"
        name="email"
        type="email"
        autoComplete="email"
        placeholder="tu@email.com"
        pattern={EMAIL_PATTERN}
        maxLength={254}
        required
        readOnly={readOnly}
      />
      <Field
        label="Teléfono"
        name="phone"
        type="tel"
        autoComplete="tel"
        placeholder="+34 123 456 789"
        pattern={NOT_BLANK}
        maxLength={30}
        required
        readOnly={readOnly}
      />
      <Field
        label="Carrera"
        name="career"
        placeholder="Ej: Psicología, Educación Social..."
        pattern={NOT_BLANK}
        maxLength={160}
        required
        readOnly={readOnly}
      />
      <Honeypot />
      <Check name="acceptTerms" required checked={termsAccepted} onChange={setTermsAccepted}>
        <TermsWords />
      </Check>
      <p className="form__actions">
        <button type="button" className="button button--quiet" onClick={onDone}>
          Cancelar
        </button>
        <button type="submit" className="button" disabled={!termsAccepted}>
          Solicitar
        </button>
      </p>
      <PrivacyNote academy={academy} purpose="gestionar tu asignatura gratis" />
    </form>
  );
}

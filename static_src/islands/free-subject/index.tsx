import { type FormEvent, useEffect, useState } from "react";
import * as z from "zod/mini";
import { ModalButton } from "../../lib/dialog/modal";
import { Checkbox, EmailField, Field, PrivacyNote, TermsLabel } from "../../lib/forms/fields";
import { errorMessage, Honeypot, PhoneField } from "../../lib/forms/leadForm";
import { post } from "../../lib/http/api";
import { defineIsland } from "../../lib/island";
import { toast } from "../../lib/page/toast";
import { Academy } from "../../schemas/academy";
import { FreeSubjectRequest } from "../../schemas/freeSubject";
import { Sent } from "../../schemas/leads";

const READ_ONLY_MS = 500;
// Browsers accept "ana@casa" as an address and a blank as a required text: these patterns do not.
const EMAIL_PATTERN = String.raw`[^\s@]+@[^\s@]+\.[^\s@]+`;
const NOT_BLANK = String.raw`.*\S.*`;
const FAILURE = "Hubo un problema al enviar tu solicitud. Por favor, inténtalo de nuevo.";

const ANSWER = "Te escribimos en menos de 24 h.";

/** The button "Asignatura gratis" of the header with its dialog. */
function FreeSubjectModal({ academy }: { academy: Academy }) {
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
 * The form uses the browser's own validation and messages, and limits the length of each field to
 * what the server accepts. On submit the dialog closes without waiting for the server, and it is
 * empty when it opens again. A toast confirms the request or reports a failure.
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
    // Browsers do not validate read-only fields.
    if (readOnly) return;
    const request = z.parse(
      FreeSubjectRequest,
      Object.fromEntries(new FormData(event.currentTarget)),
    );
    onDone();
    post("/api/request-free-subject", request, Sent).then(
      () => toast({ title: "Hemos recibido tu solicitud", text: ANSWER, tone: "success" }),
      (error) => toast({ title: "Error", text: errorMessage(error, FAILURE), tone: "error" }),
    );
  }

  return (
    <form className="form" onSubmit={submit}>
      <EmailField pattern={EMAIL_PATTERN} maxLength={254} readOnly={readOnly} />
      <PhoneField
        placeholder="+34 123 456 789"
        pattern={NOT_BLANK}
        maxLength={30}
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
      <p>
        <a href="/muestra">Mira antes una lección</a>
      </p>
      <Honeypot />
      <Checkbox name="acceptTerms" required checked={termsAccepted} onChange={setTermsAccepted}>
        <TermsLabel />
      </Checkbox>
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

export default defineIsland(z.object({ academy: Academy }), FreeSubjectModal);

import { post } from "../../lib/api";
import { Field } from "../../lib/fields";
import { Honeypot, PrivacyNote, useLeadForm } from "../../lib/forms";
import { ModalButton } from "../../lib/modal";
import { toast } from "../../lib/toast";
import type { Academy } from "../../schemas/academy";
import { Sent } from "../../schemas/leads";
import { SubjectRequest } from "../../schemas/requests";

/** The button in the missing-subject banner and its dialog. It arrives with the first press: open. */
export function MissingSubjectDialog({ academy }: { academy: Academy }) {
  return (
    <ModalButton label="Solicitar asignatura" className="button" title="Solicita tu asignatura">
      {(close) => <RequestForm academy={academy} onSent={close} />}
    </ModalButton>
  );
}

function RequestForm({ academy, onSent }: { academy: Academy; onSent(): void }) {
  const { errors, sending, attributes } = useLeadForm(
    SubjectRequest,
    async (request) => {
      await post("/api/send-subject-request-email", request, Sent);
      toast({
        title: "¡Solicitud enviada correctamente! Te contactaremos pronto.",
        tone: "success",
      });
      onSent();
    },
    "Error enviando la solicitud. Por favor, inténtalo de nuevo.",
  );
  return (
    <form className="form" {...attributes}>
      <p className="form__lead">
        Cuéntanos qué asignatura te falta. Te respondemos por email en menos de 24 h.
      </p>
      <Field label="Nombre" name="name" autoComplete="name" required error={errors.name} />
      <div className="form__row">
        <Field
          label="Email"
          name="email"
          type="email"
          autoComplete="email"
          placeholder="tu@email.com"
          required
          error={errors.email}
        />
        <Field
          label="Teléfono"
          name="phone"
          type="tel"
          autoComplete="tel"
          required
          error={errors.phone}
        />
      </div>
      <Field label="Universidad" name="university" required error={errors.university} />
      <Field label="Carrera" name="career" required error={errors.career} />
      <Field
        label="Nombre de la asignatura"
        name="subjectName"
        required
        error={errors.subjectName}
      />
      <Honeypot />
      <button type="submit" className="button button--large" disabled={sending}>
        {sending ? "Enviando..." : "Enviar solicitud"}
      </button>
      <PrivacyNote
        academy={academy}
        purpose="responder a tu solicitud y avisarte cuando esa asignatura esté disponible"
      />
    </form>
  );
}

import * as z from "zod/mini";
import { ModalButton } from "../../lib/dialog/modal";
import { EmailField, Field, PrivacyNote } from "../../lib/forms/fields";
import { Honeypot, PhoneField, SubmitButton, useLeadForm } from "../../lib/forms/leadForm";
import { post } from "../../lib/http/api";
import { defineIsland } from "../../lib/island";
import { toast } from "../../lib/page/toast";
import { Academy } from "../../schemas/academy";
import { Sent } from "../../schemas/leads";
import { SubjectRequest } from "../../schemas/subjectRequest";

/** `university`: the announced university that the visitor looked for. */
type Props = { academy: Academy; university?: string | undefined };

/** A button with the dialog that requests a subject: in a banner, or beside a university. */
function SubjectRequestDialog(props: Props) {
  return (
    <ModalButton
      label={props.university ? "Avísame" : "Solicitar asignatura"}
      className="button"
      title="Solicita tu asignatura"
    >
      {(close) => <RequestForm {...props} onSent={close} />}
    </ModalButton>
  );
}

function RequestForm({ academy, university, onSent }: Props & { onSent(): void }) {
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
        <EmailField error={errors.email} />
        <PhoneField error={errors.phone} />
      </div>
      <Field
        label="Universidad"
        name="university"
        defaultValue={university}
        required
        error={errors.university}
      />
      <Field label="Carrera" name="career" required error={errors.career} />
      <Field
        label="Nombre de la asignatura"
        name="subjectName"
        required
        error={errors.subjectName}
      />
      <Honeypot />
      <SubmitButton sending={sending}>Enviar solicitud</SubmitButton>
      <PrivacyNote
        academy={academy}
        purpose="responder a tu solicitud y avisarte cuando esa asignatura esté disponible"
      />
    </form>
  );
}

export default defineIsland(
  z.object({ academy: Academy, university: z.optional(z.string()) }),
  SubjectRequestDialog,
);

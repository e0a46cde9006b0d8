import { postForm } from "../../lib/api";
import { Check, Field } from "../../lib/fields";
import { Honeypot, PrivacyNote, TermsWords, useLeadForm } from "../../lib/forms";
import { toast } from "../../lib/toast";
import type { Academy } from "../../schemas/academy";
import { Sent } from "../../schemas/leads";
import { ATTACHMENT_TYPES, PreviewContact } from "../../schemas/requests";

/** The form below the plan preview: an exercise to look at, and where to answer. */
export function PreviewContactForm({ academy }: { academy: Academy }) {
  const { errors, sending, attributes } = useLeadForm(
    PreviewContact,
    async ({ email, attachment, website }) => {
      const form = new FormData();
      form.set("email", email);
      form.set("attachment", attachment);
      form.set("acceptTerms", "true");
      form.set("website", website);
      await postForm("/api/send-preview-contact", form, Sent);
      attributes.ref.current?.reset();
      toast({
        title: "¡Solicitud enviada!",
        text: "Hemos recibido tu archivo. Te responderemos por email.",
        tone: "success",
      });
    },
    "Hubo un problema al enviar tu solicitud. Por favor, inténtalo de nuevo.",
  );
  return (
    <form className="form" {...attributes}>
      <Field
        label="Archivo"
        name="attachment"
        type="file"
        accept={ATTACHMENT_TYPES.join(",")}
        hint="PDF, Word, texto o imagen. Máx. 10MB."
        required
        error={errors.attachment}
      />
      <Field
        label="Email"
        name="email"
        type="email"
        autoComplete="email"
        placeholder="tu@email.com"
        required
        error={errors.email}
      />
      <Honeypot />
      <Check name="acceptTerms" required error={errors.acceptTerms}>
        <TermsWords />
      </Check>
      <button type="submit" className="button" disabled={sending}>
        {sending ? "Enviando..." : "Enviar"}
      </button>
      <PrivacyNote academy={academy} purpose="mirar tu archivo y responderte" />
    </form>
  );
}

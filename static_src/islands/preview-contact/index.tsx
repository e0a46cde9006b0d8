import * as z from "zod/mini";
import { Checkbox, EmailField, Field, PrivacyNote, TermsLabel } from "../../lib/forms/fields";
import { Honeypot, useLeadForm } from "../../lib/forms/leadForm";
import { postForm } from "../../lib/http/api";
import { defineIsland } from "../../lib/island";
import { toast } from "../../lib/page/toast";
import { Academy } from "../../schemas/academy";
import { Sent } from "../../schemas/leads";
import { ATTACHMENT_TYPES, PreviewContact } from "../../schemas/previewContact";

/** The form below the plan preview: the visitor sends an exercise and gets advice by e-mail. */
function PreviewContactForm({ academy }: { academy: Academy }) {
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
      <EmailField error={errors.email} />
      <Honeypot />
      <Checkbox name="acceptTerms" required error={errors.acceptTerms}>
        <TermsLabel />
      </Checkbox>
      <button type="submit" className="button" disabled={sending}>
        {sending ? "Enviando..." : "Enviar"}
      </button>
      <PrivacyNote academy={academy} purpose="mirar tu archivo y responderte" />
    </form>
  );
}

export default defineIsland(z.object({ academy: Academy }), PreviewContactForm);

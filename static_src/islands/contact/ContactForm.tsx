import { post } from "../../lib/api";
import { Check, Field, NewTab } from "../../lib/fields";
import { Honeypot, PrivacyNote, TextField, useLeadForm } from "../../lib/forms";
import { toast } from "../../lib/toast";
import type { Academy } from "../../schemas/academy";
import { ContactMessage, Sent } from "../../schemas/leads";

/** The contact form (site spec, section 5). Its HTML before: `templates/pages/_contact_form.html`. */
export function ContactForm({ academy }: { academy: Academy }) {
  const { errors, sending, attributes } = useLeadForm(
    ContactMessage,
    async (message) => {
      await post("/api/send-contact-email", message, Sent);
      attributes.ref.current?.reset();
      toast({ title: "¡Mensaje enviado!", tone: "success" });
    },
    "Error al enviar el formulario",
  );
  return (
    <form className="form" {...attributes}>
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
          label="Teléfono (opcional)"
          name="phone"
          type="tel"
          autoComplete="tel"
          error={errors.phone}
        />
      </div>
      <TextField label="Mensaje" name="message" rows={5} required error={errors.message} />
      <Honeypot />
      <Check name="privacyAccepted" required error={errors.privacyAccepted}>
        Acepto la <NewTab href="/privacidad">política de privacidad</NewTab>
      </Check>
      <button type="submit" className="button button--large" disabled={sending}>
        {sending ? "Enviando..." : "Enviar mensaje"}
      </button>
      <PrivacyNote academy={academy} purpose="responder a tu mensaje" />
    </form>
  );
}

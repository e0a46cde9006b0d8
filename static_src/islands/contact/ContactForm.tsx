import { post } from "../../lib/api";
import { Checkbox, EmailField, Field, PrivacyLabel, PrivacyNote } from "../../lib/fields";
import { Honeypot, PhoneField, SubmitButton, TextField, useLeadForm } from "../../lib/forms";
import { toast } from "../../lib/toast";
import type { Academy } from "../../schemas/academy";
import { ContactMessage } from "../../schemas/contact";
import { Sent } from "../../schemas/leads";

/** The contact form. `templates/pages/_contact_form.html` has the HTML shown until it loads. */
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
        <EmailField error={errors.email} />
        <PhoneField label="Teléfono (opcional)" required={false} error={errors.phone} />
      </div>
      <TextField label="Mensaje" name="message" rows={5} required error={errors.message} />
      <Honeypot />
      <Checkbox name="privacyAccepted" required error={errors.privacyAccepted}>
        <PrivacyLabel />
      </Checkbox>
      <SubmitButton sending={sending}>Enviar mensaje</SubmitButton>
      <PrivacyNote academy={academy} purpose="responder a tu mensaje" />
    </form>
  );
}

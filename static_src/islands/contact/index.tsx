import * as z from "zod/mini";
import { Checkbox, EmailField, Field, PrivacyLabel, PrivacyNote } from "../../lib/forms/fields";
import {
  Honeypot,
  PhoneField,
  SubmitButton,
  TextField,
  useLeadForm,
} from "../../lib/forms/leadForm";
import { post } from "../../lib/http/api";
import { defineIsland } from "../../lib/island";
import { toast } from "../../lib/page/toast";
import { Academy } from "../../schemas/academy";
import { ContactMessage } from "../../schemas/contact";
import { Sent } from "../../schemas/leads";

/** The contact form. `templates/pages/_contact_form.html` has the HTML shown until it loads. */
function ContactForm({ academy }: { academy: Academy }) {
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

export default defineIsland(z.object({ academy: Academy }), ContactForm);

import { post } from "../../lib/api";
import { Check, Field } from "../../lib/fields";
import { Honeypot, PrivacyNote, SelectField, TermsWords, useLeadForm } from "../../lib/forms";
import { ModalButton } from "../../lib/modal";
import { toast } from "../../lib/toast";
import type { Academy } from "../../schemas/academy";
import { Sent } from "../../schemas/leads";
import { CAREERS, DiscountRequest } from "../../schemas/requests";

/** The button of the discounts section and its dialog. It arrives with the first press: open. */
export function DiscountRequestDialog({ academy }: { academy: Academy }) {
  return (
    <ModalButton label="Solicitar mi descuento" className="button" title="Solicita tu descuento">
      {(close) => <RequestForm academy={academy} onSent={close} />}
    </ModalButton>
  );
}

function RequestForm({ academy, onSent }: { academy: Academy; onSent(): void }) {
  const { errors, sending, attributes } = useLeadForm(
    DiscountRequest,
    async (request) => {
      await post("/api/send-discount-email", request, Sent);
      toast({
        title: "¡Solicitud enviada!",
        text: "Te hemos enviado tu código de descuento por email.",
        tone: "success",
      });
      onSent();
    },
    "Hubo un problema al enviar tu solicitud. Por favor, inténtalo de nuevo.",
  );
  return (
    <form className="form" {...attributes}>
      <p className="form__lead">
        Te enviamos por email un código personal del 5 %, válido durante 30 días.
      </p>
      <Field
        label="Teléfono"
        name="phone"
        type="tel"
        autoComplete="tel"
        required
        error={errors.phone}
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
      <SelectField label="Carrera" name="career" defaultValue="" required error={errors.career}>
        <option value="" disabled>
          Selecciona una carrera
        </option>
        {Object.entries(CAREERS).map(([value, name]) => (
          <option key={value} value={value}>
            {name}
          </option>
        ))}
      </SelectField>
      <Honeypot />
      <Check name="acceptTerms" required error={errors.acceptTerms}>
        <TermsWords />
      </Check>
      <button type="submit" className="button button--large" disabled={sending}>
        {sending ? "Enviando..." : "Solicitar descuento"}
      </button>
      <PrivacyNote academy={academy} purpose="crear tu código y enviártelo" />
    </form>
  );
}

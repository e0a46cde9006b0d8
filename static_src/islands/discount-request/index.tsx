import * as z from "zod/mini";
import { ModalButton } from "../../lib/dialog/modal";
import { Checkbox, EmailField, PrivacyNote, TermsLabel } from "../../lib/forms/fields";
import {
  Honeypot,
  PhoneField,
  SelectField,
  SubmitButton,
  useLeadForm,
} from "../../lib/forms/leadForm";
import { post } from "../../lib/http/api";
import { defineIsland } from "../../lib/island";
import { toast } from "../../lib/page/toast";
import { Academy } from "../../schemas/academy";
import { CAREERS, DiscountRequest } from "../../schemas/discountRequest";
import { Sent } from "../../schemas/leads";

type Props = { academy: Academy; percent: number; days: number };

/** The button of the discounts section with its dialog: a form that sends a personal promo code. */
function DiscountRequestDialog(props: Props) {
  return (
    <ModalButton label="Solicitar mi descuento" className="button" title="Solicita tu descuento">
      {(close) => <RequestForm {...props} onSent={close} />}
    </ModalButton>
  );
}

function RequestForm({ academy, percent, days, onSent }: Props & { onSent(): void }) {
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
        Te enviamos por email un código personal del {percent} %, válido durante {days} días.
      </p>
      <PhoneField error={errors.phone} />
      <EmailField error={errors.email} />
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
      <Checkbox name="acceptTerms" required error={errors.acceptTerms}>
        <TermsLabel />
      </Checkbox>
      <SubmitButton sending={sending}>Solicitar descuento</SubmitButton>
      <PrivacyNote academy={academy} purpose="crear tu código y enviártelo" />
    </form>
  );
}

export default defineIsland(
  z.object({ academy: Academy, percent: z.number(), days: z.number() }),
  DiscountRequestDialog,
);

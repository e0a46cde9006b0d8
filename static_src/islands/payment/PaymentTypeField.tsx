import { formatEuros } from "../../lib/money";
import type { InstalmentsRefusal, PaymentType } from "../../lib/quote";
import { splitInstalments } from "../../lib/quote";
import type { Pricing } from "../../schemas/pricing";

type Props = {
  pricing: Pricing;
  chosen: PaymentType;
  /** The totals of either way to pay, in cents. */
  fullCents: number;
  instalmentsCents: number;
  refusal: InstalmentsRefusal | null;
  disabled: boolean;
  onChoose(paymentType: PaymentType): void;
};

/** One payment or three: what each means in euros, and why one of them is not possible. */
export function PaymentTypeField(props: Props) {
  const { pricing, chosen, refusal, disabled, onChoose } = props;
  const { count, everyDays, minimumTotalCents } = pricing.instalments;
  const [first, ...others] = splitInstalments(pricing, props.instalmentsCents);
  const rest = others[0] ?? first;
  const reasons: Record<InstalmentsRefusal, string> = {
    no_complete_subject: "Para pagar a plazos hace falta al menos una asignatura completa.",
    below_minimum: `Para pagar a plazos el total debe ser de al menos ${formatEuros(minimumTotalCents)}.`,
  };

  return (
    <fieldset className="payment-types" disabled={disabled}>
      <legend className="purchase__heading">Forma de pago</legend>
      <label className="payment-type">
        <input
          type="radio"
          name="payment-type"
          value="full_payment"
          checked={chosen === "full_payment"}
          onChange={() => onChoose("full_payment")}
        />
        <strong>Pago completo</strong>
        <span className="price">{formatEuros(props.fullCents)}</span>
        <small>Un solo pago hoy, con un {pricing.fullPaymentPercent} % de descuento</small>
      </label>
      <label className="payment-type">
        <input
          type="radio"
          name="payment-type"
          value="installment"
          checked={chosen === "installment"}
          disabled={refusal !== null}
          aria-describedby="instalments-terms"
          onChange={() => onChoose("installment")}
        />
        <strong>{count} plazos</strong>
        <span className="price">
          {!refusal && (
            <>
              {count} × {formatEuros(rest)}
            </>
          )}
        </span>
        <small id="instalments-terms">
          {refusal
            ? reasons[refusal]
            : `Cada ${everyDays} días, sin intereses. ${schedule(first, rest, everyDays)}`}
        </small>
      </label>
    </fieldset>
  );
}

function schedule(first: number, rest: number, everyDays: number): string {
  const later = `dentro de ${everyDays} y de ${2 * everyDays} días`;
  if (first === rest) return `Hoy, ${later}.`;
  return `Hoy ${formatEuros(first)}; ${formatEuros(rest)} ${later}.`;
}

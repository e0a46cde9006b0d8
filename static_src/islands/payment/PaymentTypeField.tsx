import {
  instalmentsRefusal,
  instalmentsRefusalSentence,
  splitInstalments,
} from "../../lib/pricing/instalments";
import { formatEuros } from "../../lib/pricing/money";
import type { Academy } from "../../schemas/academy";
import type { PaymentType } from "../../schemas/paymentType";
import type { Pricing } from "../../schemas/pricing";

/** "de 20 y de 40" */
const dayList = new Intl.ListFormat("es-ES");

type Props = {
  pricing: Pricing;
  chosen: PaymentType;
  /** The total of each payment type, in cents. */
  fullCents: number;
  instalmentsCents: number;
  /** The lines that are bought. */
  items: readonly { complete: boolean }[];
  /** The least total for instalments, in cents: today's, or the lower one that was promised. */
  minimumCents: number;
  disabled: boolean;
  onChoose(paymentType: PaymentType): void;
};

/**
 * The choice between full payment and instalments, with amounts, or why instalments are refused.
 */
export function PaymentTypeField(props: Props) {
  const { pricing, chosen, instalmentsCents, minimumCents, disabled, onChoose } = props;
  const { count, everyDays } = pricing.instalments;
  const refusal = instalmentsRefusal(props.items, instalmentsCents, minimumCents);
  const [first, ...others] = splitInstalments(pricing.instalments, instalmentsCents);
  const rest = others[0] ?? first;

  return (
    <fieldset className="payment-types" disabled={disabled}>
      <legend className="purchase__heading">Forma de pago</legend>
      <Option
        type="full_payment"
        title="Pago completo"
        price={formatEuros(props.fullCents)}
        note={`Un solo pago hoy, con un ${pricing.fullPaymentPercent} % de descuento`}
        {...{ chosen, onChoose }}
      />
      <Option
        type="installment"
        title={`${count} plazos`}
        price={!refusal && instalmentAmounts(count, first, rest)}
        note={
          refusal
            ? instalmentsRefusalSentence(refusal, minimumCents)
            : `Cada ${everyDays} días, sin intereses. ${schedule(pricing.instalments, first, rest)}`
        }
        disabled={refusal !== null}
        {...{ chosen, onChoose }}
      />
    </fieldset>
  );
}

/** The ways to pay that the page does not take itself, if there are any. */
export function OtherPayments({ academy }: { academy: Academy }) {
  if (!academy.otherPayments) return null;
  return (
    <p className="form__note">
      También aceptamos {academy.otherPayments}: escríbenos a{" "}
      <a href={`mailto:${academy.supportEmail}`}>{academy.supportEmail}</a>.
    </p>
  );
}

type OptionProps = Pick<Props, "chosen" | "onChoose"> & {
  type: PaymentType;
  title: string;
  price: string | false;
  note: string;
  disabled?: boolean;
};

function Option({ type, title, price, note, disabled, chosen, onChoose }: OptionProps) {
  return (
    <label className="payment-type">
      <input
        type="radio"
        name="payment-type"
        value={type}
        checked={chosen === type}
        disabled={disabled}
        onChange={() => onChoose(type)}
      />
      <strong>{title}</strong>
      <span className="price">{price}</span>
      <small>{note}</small>
    </label>
  );
}

function schedule({ count, everyDays }: Pricing["instalments"], first: number, rest: number) {
  const days = Array.from({ length: count - 1 }, (_, index) => `de ${(index + 1) * everyDays}`);
  const later = `dentro ${dayList.format(days)} días`;
  if (first === rest) return `Hoy, ${later}.`;
  return `Hoy ${formatEuros(first)}; ${formatEuros(rest)} ${later}.`;
}

/** "3 × 90,33 €", or "90,34 € + 2 × 90,33 €" if the first instalment is different. In cents. */
export function instalmentAmounts(count: number, firstCents: number, restCents: number): string {
  return firstCents === restCents
    ? `${count} × ${formatEuros(restCents)}`
    : `${formatEuros(firstCents)} + ${count - 1} × ${formatEuros(restCents)}`;
}

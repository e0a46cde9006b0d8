/** The ways to pay that the shop itself takes, in words. */
import type { Academy } from "../../schemas/academy";
import type { PaymentType } from "../../schemas/paymentType";

const alternatives = new Intl.ListFormat("es-ES", { type: "disjunction" });

/** "tarjeta, Bizum o PayPal". Instalments are charged to a card: "tarjeta". */
export function waysToPay({ bizum, paypal }: Academy, paymentType: PaymentType): string {
  const others = [bizum && "Bizum", paypal && "PayPal"].filter((name) => name !== false);
  return alternatives.format(paymentType === "installment" ? ["tarjeta"] : ["tarjeta", ...others]);
}

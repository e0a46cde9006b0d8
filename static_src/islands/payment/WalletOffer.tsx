import { useRef, useState } from "react";
import { Checkbox, NewTabLink } from "../../lib/forms/fields";
import { formatEuros } from "../../lib/pricing/money";
import type { Academy } from "../../schemas/academy";
import type { PricedOrder } from "../../schemas/checkout";
import { type GiftErrors, giftErrors } from "./gift";
import { needsNoCard } from "./PayPanel";
import { isBusy, type Purchase } from "./state";
import { Waiting } from "./Waiting";
import { TICK_THIS_BOX, type WalletPayment, Wallets } from "./Wallets";
import { waysToPay } from "./waysToPay";

type Props = {
  purchase: Purchase;
  order: PricedOrder;
  academy: Academy;
  onPay(totalCents: number, payment: WalletPayment): void;
  /** The wallet was pressed although the gift's data in the form below are not complete. */
  onGiftErrors(errors: GiftErrors): void;
};

/** The form whose fields must not move while the buyer fills them in. */
const isFillingInForm = () => document.activeElement?.closest(".purchase__contact") != null;

/**
 * The wallets above the form of step 1. They give e-mail and phone, so the buyer pays from here: what
 * is bought, its price and the boxes of step 2 stand beside them. The boxes are unticked.
 */
export function WalletOffer({ purchase, order, academy, onPay, onGiftErrors }: Props) {
  const boxes = useRef<HTMLDivElement>(null);
  const [ticked, setTicked] = useState({ adult: false, withdrawal: false });
  const [asked, setAsked] = useState(false);
  const busy = isBusy(purchase);
  // Step 2 shows a plan with what it means, and asks about what the server has refused.
  const inStep2 =
    purchase.paymentType === "installment" ||
    (purchase.notice !== null && purchase.notice.kind !== "problem");
  if (needsNoCard(order.totalCents) || order.lines.length === 0 || inStep2) return null;

  function mayOpen(): boolean {
    const complete = ticked.adult && ticked.withdrawal;
    if (!complete) {
      setAsked(true);
      boxes.current?.querySelector<HTMLElement>("input:not(:checked)")?.focus();
    }
    const errors = giftErrors(purchase.gift, "");
    if (!complete || busy) return false;
    if (Object.keys(errors).length === 0) return true;
    onGiftErrors(errors);
    return false;
  }
  const box = (name: keyof typeof ticked) => ({
    required: true,
    checked: ticked[name],
    disabled: busy,
    error: asked && !ticked[name] ? TICK_THIS_BOX : undefined,
    onChange: (checked: boolean) => setTicked({ ...ticked, [name]: checked }),
  });

  return (
    <Wallets
      amountCents={order.totalCents}
      paymentType={purchase.paymentType}
      paypal={academy.paypal}
      asksContact
      onPress={mayOpen}
      onPay={(payment) => onPay(order.totalCents, payment)}
      mayAppear={() => !isFillingInForm()}
      before={
        <>
          <p className="wallets__order">
            {order.lines.map(({ name }) => name).join(", ")}.{" "}
            <strong>Total: {formatEuros(order.totalCents)}</strong>, IVA incluido
            {purchase.gift && ". Es un regalo"}
          </p>
          <div ref={boxes}>
            <Checkbox {...box("adult")}>
              He leído y acepto los <NewTabLink href="/terminos">términos y condiciones</NewTabLink>{" "}
              y la <NewTabLink href="/privacidad">política de privacidad</NewTabLink> y soy mayor de
              18 años
            </Checkbox>
            <Checkbox {...box("withdrawal")}>
              Quiero acceder desde ahora y sé que pierdo el derecho de desistimiento del contenido
              digital al empezar su suministro
            </Checkbox>
          </div>
        </>
      }
      after={
        <>
          {busy && <Waiting>Procesando el pago…</Waiting>}
          <p className="wallets__meaning">
            Pedido con obligación de pago. Tu cartera nos da tu email y tu teléfono.
          </p>
          <p className="wallets__or">
            o con tus datos y {waysToPay(academy, purchase.paymentType)}
          </p>
        </>
      }
    />
  );
}

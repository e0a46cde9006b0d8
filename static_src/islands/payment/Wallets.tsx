/** Apple Pay, Google Pay, Link and other wallets: Stripe's Express Checkout Element. */
import { Elements, ExpressCheckoutElement, useElements, useStripe } from "@stripe/react-stripe-js";
import type {
  Stripe,
  StripeExpressCheckoutElementClickEvent,
  StripeExpressCheckoutElementConfirmEvent,
} from "@stripe/stripe-js";
import { type ReactNode, useEffect, useRef, useState } from "react";
import type { PaymentType } from "../../schemas/paymentType";
import { type CardOutcome, declined, outcomeOf, useAppearance } from "./CardForm";
import { type Contact, EMPTY_CONTACT, typedPhone } from "./contact";
import { stripeSource } from "./stripe";

/** A payment that the buyer has authorized in a wallet. */
export type WalletPayment = {
  /** What the wallet's sheet has shown, in cents. */
  amountCents: number;
  /** From the wallet's sheet; null if the wallet was not asked for it. */
  contact: Contact | null;
  confirm(clientSecret: string, returnUrl: string): Promise<CardOutcome>;
  /** Tell the wallet that the payment was not made. */
  fail(): void;
};

type Props = {
  /** What is charged now, in cents. */
  amountCents: number;
  paymentType: PaymentType;
  /** Whether the shop takes PayPal. It is not saved for instalments. */
  paypal: boolean;
  /** Whether the wallet asks for e-mail and phone, because the buyer has not given theirs. */
  asksContact: boolean;
  /** Whether the wallet may open. If not, the page has said what is missing. */
  onPress(): boolean;
  onPay(payment: WalletPayment): void;
  /** Asked once the wallets are known. If false they stay hidden, because the page would move. */
  mayAppear?(): boolean;
  /** Shown above and below the buttons, if a wallet is available. */
  before?: ReactNode;
  after?: ReactNode;
};

/** The error of a required box, if the wallet was pressed before it was ticked. */
export const TICK_THIS_BOX = "Marca esta casilla para pagar.";

// Whether this browser has a wallet, as far as is known. Most have one, so its room is kept at once.
let isAvailable = true;

/**
 * The buttons of the wallets, and their room until Stripe has said which there are. Without an
 * available wallet, or without Stripe.js, there is nothing: the card form reports its own failure.
 */
export function Wallets(props: Props) {
  // Instalments need other wallets: those that can be charged again without the buyer.
  return <WalletsOfType key={props.paymentType} {...props} />;
}

function WalletsOfType(props: Props) {
  const { before, after } = props;
  const [stripe, setStripe] = useState<Stripe | null>(null);
  const [state, setState] = useState<"waiting" | "shown" | "none">(
    isAvailable ? "waiting" : "none",
  );
  const appearance = useAppearance();
  useEffect(() => {
    let left = false;
    stripeSource.get().then(
      (loaded) => left || setStripe(loaded),
      () => left || setState("none"),
    );
    return () => {
      left = true;
    };
  }, []);
  const hasRoom = state !== "none";
  return (
    <div className={hasRoom ? "wallets" : "wallets wallets--none"} inert={!hasRoom}>
      {hasRoom && before}
      <div className={state === "waiting" ? "wallets__buttons skeleton" : "wallets__buttons"}>
        {stripe && (
          <Elements
            stripe={stripe}
            options={{
              mode: "payment",
              amount: props.amountCents,
              currency: "eur",
              setupFutureUsage: props.paymentType === "installment" ? "off_session" : null,
              appearance,
              locale: "es",
            }}
          >
            <Buttons
              {...props}
              onKnown={(available) => {
                isAvailable = available;
                const mayAppear = hasRoom || (props.mayAppear?.() ?? true);
                setState(available && mayAppear ? "shown" : "none");
              }}
            />
          </Elements>
        )}
      </div>
      {hasRoom && after}
    </div>
  );
}

type ButtonsProps = Props & { onKnown(available: boolean): void };

function Buttons(props: ButtonsProps) {
  const { amountCents, asksContact, onPress, onPay, onKnown } = props;
  const paypal = props.paypal && props.paymentType === "full_payment" ? "auto" : "never";
  const stripe = useStripe();
  const elements = useElements();
  const shownCents = useRef(amountCents);

  function press(event: StripeExpressCheckoutElementClickEvent) {
    if (!onPress()) return event.reject();
    shownCents.current = amountCents;
    event.resolve();
  }

  function authorized(event: StripeExpressCheckoutElementConfirmEvent) {
    if (!stripe || !elements) return event.paymentFailed({ reason: "fail" });
    onPay({
      amountCents: shownCents.current,
      contact: asksContact ? contactOfWallet(event.billingDetails) : null,
      fail: () => event.paymentFailed({ reason: "fail" }),
      async confirm(clientSecret, returnUrl) {
        const { error: incomplete } = await elements.submit();
        if (incomplete) return declined(incomplete);
        const { error, paymentIntent } = await stripe.confirmPayment({
          elements,
          clientSecret,
          confirmParams: { return_url: returnUrl },
          redirect: "if_required",
        });
        return outcomeOf(paymentIntent ?? error?.payment_intent) ?? declined(error);
      },
    });
  }

  return (
    <ExpressCheckoutElement
      options={{
        emailRequired: asksContact,
        phoneNumberRequired: asksContact,
        buttonHeight: 48,
        paymentMethods: { paypal },
        buttonType: { applePay: "buy", googlePay: "pay", paypal: "pay" },
        layout: { maxColumns: 2, maxRows: 3 },
      }}
      onReady={({ availablePaymentMethods }) => onKnown(Boolean(availablePaymentMethods))}
      onLoadError={() => onKnown(false)}
      onClick={press}
      onConfirm={authorized}
    />
  );
}

/**
 * The buyer's contact data from the wallet's sheet. A phone number without its country prefix counts
 * as Spanish. The buyer has ticked the box beside the wallets, which names terms and privacy policy.
 */
export function contactOfWallet(details: { email?: string; phone?: string } | undefined): Contact {
  return {
    email: details?.email ?? "",
    ...typedPhone(details?.phone ?? "", EMPTY_CONTACT.prefix),
    termsAccepted: true,
    privacyAccepted: true,
    besideWallet: true,
  };
}

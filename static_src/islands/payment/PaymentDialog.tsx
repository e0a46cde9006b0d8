import { type RefObject, useEffect, useEffectEvent, useRef, useState } from "react";
import {
  bindingPriceOf,
  cartPriceOptions,
  NO_CODE_WITH_QUOTE,
} from "../../lib/pricing/bindingPrice";
import type { BindingQuote } from "../../lib/pricing/bindingQuote";
import "./buying";
import { type CartLine, toCheckoutItems, toPricedItems } from "../../lib/pricing/cart";
import "../../lib/common";
import { Modal } from "../../lib/dialog/modal";
import { BackIcon } from "../../lib/icons";
import { dismissToasts, toast } from "../../lib/page/toast";
import { instalmentsRefusal } from "../../lib/pricing/instalments";
import type { Academy } from "../../schemas/academy";
import type { UnavailableItem } from "../../schemas/checkout";
import type { Pricing } from "../../schemas/pricing";
import { ContactStep } from "./ContactStep";
import { signedInStudent } from "./checkoutApi";
import { contactOf, isValid } from "./contact";
import { newGift, type StepField } from "./gift";
import { Processing, Saved, TransferToMake, Unrecorded } from "./Outcome";
import { cartContentKey, estimateOrder, instalmentMinimum, withPrices } from "./orderEstimate";
import { contactOfQuote } from "./quoteContact";
import { SummaryStep } from "./SummaryStep";
import { isBusy, isFinished, isOver, NEW_PURCHASE, type Purchase } from "./state";
import { usePurchase } from "./usePurchase";
import { useVisibleArea } from "./useVisibleArea";
import { WalletOffer } from "./WalletOffer";

type Props = {
  open: boolean;
  onOpenChange(open: boolean): void;
  /** The button that opened the dialog. */
  opener: RefObject<HTMLElement | null>;
  cart: CartLine[];
  onCartChange(cart: CartLine[]): void;
  /** The server has refused to sell these items. They are still in the cart. */
  onUnavailable(items: UnavailableItem[]): void;
  pricing: Pricing;
  academy: Academy;
  /** The binding quote whose link was opened (/compra?presupuesto=…). */
  bindingQuote: BindingQuote | null;
  /** The promo code in the page's link (/compra?codigo=…), unchanged. */
  code: string;
};

type SignedInStudent = NonNullable<Awaited<ReturnType<typeof signedInStudent>>>;

const goTo = (url: string) => window.location.assign(url);

/**
 * The payment dialog. It stays mounted while it is closed: closing resets the form, but an unpaid
 * order that the server has created is reused by the next payment attempt.
 */
export function PaymentDialog({ open, onOpenChange, opener, ...props }: Props) {
  const { cart, onCartChange, pricing, academy, bindingQuote, code } = props;
  // The promo field applies this code once each time the dialog opens.
  const linkCode = useRef(code);
  const { purchase, dispatch, card, pay, payWithWallet, ...actions } = usePurchase(NEW_PURCHASE, {
    onPaid: goTo,
  });
  const student = useSignedInStudent();
  const area = useVisibleArea(open);
  const startAt = useRef<StepField | null>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: resets when the dialog opens or closes and when the student is loaded.
  useEffect(() => {
    if (student === undefined) return;
    // While the cart is as quoted, start with the quote's payment type.
    const { paymentType } = cartPriceOptions(pricing, bindingQuote, cart);
    const quoted = bindingQuote && { key: bindingQuote.key, paymentType };
    dispatch({ type: "reset", student: prefill(student) ?? quotedContact(), quoted });
    linkCode.current = code;
  }, [open, student, dispatch]);

  // A binding price cannot be combined with a promo code: remove the code and say so.
  const { bindingCents } = bindingPriceOf(
    pricing,
    purchase.quote ? bindingQuote : null,
    cart,
    purchase.paymentType,
  );
  useEffect(() => {
    if (bindingCents === null || !purchase.promo) return;
    dispatch({ type: "promo_removed" });
    toast({ title: "Código eliminado", text: NO_CODE_WITH_QUOTE, tone: "info" });
  }, [bindingCents, purchase.promo, dispatch]);

  const cartContent = cartContentKey(cart);
  const previousContent = useRef(cartContent);
  useEffect(() => {
    if (previousContent.current !== cartContent) dispatch({ type: "cart_changed" });
    previousContent.current = cartContent;
  }, [cartContent, dispatch]);

  // Copy the server's prices into the cart, so that every total is computed from them.
  useEffect(() => {
    if (!purchase.priced) return;
    const fresh = withPrices(cart, purchase.priced.lines);
    if (fresh !== cart) onCartChange(fresh);
  }, [purchase.priced, cart, onCartChange]);

  const reportUnavailable = useEffectEvent(props.onUnavailable);
  useEffect(() => {
    if (purchase.notice?.kind === "unavailable") reportUnavailable(purchase.notice.items);
  }, [purchase.notice]);

  // Switch to full payment when the cart no longer qualifies for instalments.
  useEffect(() => {
    if (purchase.paymentType !== "installment") return;
    const { totalCents } = estimateOrder(pricing, cart, purchase, bindingQuote);
    const minimumCents = instalmentMinimum(pricing, cart, purchase, bindingQuote);
    if (instalmentsRefusal(toPricedItems(cart), totalCents, minimumCents)) {
      dispatch({ type: "payment_type_chosen", paymentType: "full_payment" });
    }
  }, [purchase, cart, pricing, bindingQuote, dispatch]);

  const view = viewOf(purchase);
  function close() {
    // Do not close during a payment: the buyer might not learn that the card was charged.
    if (isBusy(purchase)) return;
    dismissToasts();
    onOpenChange(false);
    if (isOver(purchase)) onCartChange([]);
  }

  function goToContact() {
    startAt.current = null;
    dispatch({ type: "went_back" });
  }

  const hasStepBefore = purchase.step === "summary" && !isFinished(purchase);

  if (!open) return null;
  return (
    <Modal
      title={view.title}
      note={
        view.stepNumber && (
          <p className="purchase__step" aria-live="polite" aria-atomic="true">
            Paso {view.stepNumber} de 2
          </p>
        )
      }
      before={
        hasStepBefore && (
          <button
            type="button"
            className="button button--plain button--icon"
            aria-label="Volver a tus datos"
            data-tooltip="Volver a tus datos"
            disabled={isBusy(purchase)}
            onClick={goToContact}
          >
            <BackIcon />
          </button>
        )
      }
      opener={opener}
      onClose={close}
      onBack={hasStepBefore ? goToContact : undefined}
      locked={isBusy(purchase)}
      allowTabOut={["confirming", "wallet"].includes(purchase.payment.phase)}
      attributes={{ ...area, className: `purchase purchase--${view.width}` }}
    >
      {body()}
    </Modal>
  );

  function body() {
    const { payment, contact } = purchase;
    const paymentProps = { email: contact.email, academy };
    if (student === undefined) return <p role="status">Cargando…</p>;
    switch (payment.phase) {
      case "unrecorded":
        return <Unrecorded {...paymentProps} paymentIntentId={payment.paymentIntentId} />;
      case "processing":
        return (
          <Processing
            {...paymentProps}
            paymentIntentId={payment.paymentIntentId}
            onDeclined={actions.bankDeclined}
          />
        );
      case "saved":
        return <Saved email={contact.email} onClose={close} />;
      case "transfer":
        return <TransferToMake {...paymentProps} transfer={payment.transfer} />;
    }
    if (purchase.step === "contact") {
      return (
        <>
          {/* The code of the page's link is applied in step 2. */}
          {academy.wallets && !linkCode.current && (
            <WalletOffer
              purchase={purchase}
              order={purchase.priced ?? estimateOrder(pricing, cart, purchase, bindingQuote)}
              academy={academy}
              onPay={(totalCents, wallet) =>
                payWithWallet(
                  { items: toCheckoutItems(cart), totalCents, plan: pricing.instalments },
                  wallet,
                )
              }
              onGiftErrors={(errors) =>
                dispatch({ type: "refused", refusal: { kind: "contact", errors } })
              }
            />
          )}
          <ContactStep
            contact={contact}
            gift={purchase.gift ?? null}
            serverErrors={purchase.contactErrors}
            academy={academy}
            startAt={startAt.current}
            onEdit={(edited) => dispatch({ type: "contact_edited", contact: edited })}
            onGiftEdit={(gift) => dispatch({ type: "gift_edited", gift })}
            onNext={() => {
              startAt.current = null;
              dispatch({ type: "contact_accepted" });
            }}
          />
        </>
      );
    }
    return (
      <SummaryStep
        purchase={purchase}
        dispatch={dispatch}
        card={card}
        cart={cart}
        onCartChange={onCartChange}
        pricing={pricing}
        academy={academy}
        bindingQuote={bindingQuote}
        linkCode={linkCode}
        onChangeEmail={() => {
          startAt.current = "email";
          dispatch({ type: "went_back" });
        }}
        onGift={() => {
          startAt.current = "gift.sender";
          if (!purchase.gift) dispatch({ type: "gift_edited", gift: newGift() });
          dispatch({ type: "went_back" });
        }}
        onPay={pay}
        onWallet={payWithWallet}
        onBuyAgain={actions.buyAgain}
        onTransfer={actions.payByTransfer}
        onSave={actions.saveForLater}
        onRemindersChange={actions.setReminders}
      />
    );
  }
}

type View = { title: string; stepNumber?: 1 | 2; width: "narrow" | "wide" };

function viewOf({ step, payment }: Purchase): View {
  switch (payment.phase) {
    case "unrecorded":
      return { title: "Hemos recibido tu pago", width: "narrow" };
    case "processing":
      return { title: "Tu banco está confirmando el pago", width: "narrow" };
    case "saved":
      return { title: "Compra guardada", width: "narrow" };
    case "transfer":
      return { title: "Haz la transferencia", width: "narrow" };
  }
  return step === "contact"
    ? { title: "Tus datos", stepNumber: 1, width: "narrow" }
    : { title: "Resumen y pago", stepNumber: 2, width: "wide" };
}

/** The contact data that the calculator kept with the quote whose link was opened. */
function quotedContact() {
  const contact = contactOfQuote(window.location);
  return contact && { contact, complete: false };
}

function prefill(student: SignedInStudent | null) {
  if (!student) return null;
  const contact = contactOf(student);
  return { contact, complete: isValid(contact), credit: student.credit };
}

/**
 * The signed-in student; undefined while loading, null if nobody is signed in or the call fails.
 */
function useSignedInStudent(): SignedInStudent | null | undefined {
  const [student, setStudent] = useState<SignedInStudent | null>();
  useEffect(() => {
    signedInStudent().then(setStudent, () => setStudent(null));
  }, []);
  return student;
}

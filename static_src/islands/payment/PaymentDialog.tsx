import { type RefObject, useEffect, useRef, useState } from "react";
import { boundBy, cartTerms, NO_CODE_ON_TOP } from "../../lib/bound";
import { type CartLine, toPricedItems } from "../../lib/cart";
import { BackIcon } from "../../lib/icons";
import { Modal } from "../../lib/modal";
import type { Offer } from "../../lib/offer";
import { instalmentsRefusal } from "../../lib/quote";
import { toast } from "../../lib/toast";
import type { Academy } from "../../schemas/academy";
import type { SignedInStudent } from "../../schemas/payments";
import type { Pricing } from "../../schemas/pricing";
import { contentKey, quotedOrder, withPrices } from "./basket";
import { ContactStep } from "./ContactStep";
import { signedInStudent } from "./calls";
import { contactOf, isValid } from "./contact";
import { Processing, Saved, Unrecorded } from "./Outcome";
import { SummaryStep } from "./SummaryStep";
import { isBusy, isOver, NEW_PURCHASE, type Purchase } from "./state";
import { usePurchase } from "./usePurchase";
import { useVisibleArea } from "./useVisibleArea";

type Props = {
  open: boolean;
  onOpenChange(open: boolean): void;
  /** The cart's button. */
  opener: RefObject<HTMLElement | null>;
  cart: CartLine[];
  onCartChange(cart: CartLine[]): void;
  pricing: Pricing;
  academy: Academy;
  /** The quote whose link was opened (/compra?presupuesto=…). */
  offer: Offer | null;
  /** The promo code of the link (/compra?codigo=…), as it stands there. */
  code: string;
};

const goTo = (url: string) => window.location.assign(url);

/**
 * From the cart to the payment (shop spec, section 2). Stays mounted while it is closed: closing
 * resets all that is seen, but the order at the server is taken up again, never doubled.
 */
export function PaymentDialog({ open, onOpenChange, opener, ...props }: Props) {
  const { cart, onCartChange, pricing, academy, offer, code } = props;
  // Applied once each time the dialog opens, where codes are typed.
  const linkCode = useRef(code);
  const { purchase, dispatch, card, pay, payAnyway, saveForLater, remind } = usePurchase(
    NEW_PURCHASE,
    { onPaid: goTo },
  );
  const student = useSignedInStudent();
  const area = useVisibleArea(open);

  // biome-ignore lint/correctness/useExhaustiveDependencies: closing resets, and so does knowing who it is.
  useEffect(() => {
    if (student === undefined) return;
    // A cart that is still as quoted begins with the quote's payment type.
    const { paymentType } = cartTerms(offer, cart);
    const quoted = offer && { key: offer.key, paymentType };
    dispatch({ type: "reset", student: prefill(student), quoted });
    linkCode.current = code;
  }, [open, student, dispatch]);

  // A quote's price takes no code on top: the code goes, and that is said.
  const { bindingCents } = boundBy(purchase.quote ? offer : null, cart, purchase.paymentType);
  useEffect(() => {
    if (bindingCents === null || !purchase.promo) return;
    dispatch({ type: "promo_removed" });
    toast({ title: "Código eliminado", text: NO_CODE_ON_TOP, tone: "info" });
  }, [bindingCents, purchase.promo, dispatch]);

  const content = contentKey(cart);
  const shownContent = useRef(content);
  useEffect(() => {
    if (shownContent.current !== content) dispatch({ type: "cart_changed" });
    shownContent.current = content;
  }, [content, dispatch]);

  // Prices that the server knows better go back into the cart, so that every sum uses them.
  useEffect(() => {
    if (!purchase.priced) return;
    const fresh = withPrices(cart, purchase.priced.lines);
    if (fresh !== cart) onCartChange(fresh);
  }, [purchase.priced, cart, onCartChange]);

  // A cart that has become too small for instalments is paid at once.
  useEffect(() => {
    if (purchase.paymentType !== "installment") return;
    const { totalCents } = quotedOrder(pricing, cart, purchase, offer);
    if (instalmentsRefusal(pricing, toPricedItems(cart), totalCents)) {
      dispatch({ type: "payment_type_chosen", paymentType: "full_payment" });
    }
  }, [purchase, cart, pricing, offer, dispatch]);

  const view = viewOf(purchase);
  function close() {
    // Whoever left now might never learn that their card was charged.
    if (isBusy(purchase)) return;
    onOpenChange(false);
    if (purchase.payment.phase === "unrecorded") onCartChange([]);
  }

  if (!open) return null;
  return (
    <Modal
      title={view.title}
      note={view.stepNumber && <p className="purchase__step">Paso {view.stepNumber} de 2</p>}
      before={
        purchase.step === "summary" &&
        !isOver(purchase) && (
          <button
            type="button"
            className="button button--plain button--icon"
            aria-label="Volver a tus datos"
            data-tooltip="Volver a tus datos"
            disabled={isBusy(purchase)}
            onClick={() => dispatch({ type: "went_back" })}
          >
            <BackIcon />
          </button>
        )
      }
      opener={opener}
      onClose={close}
      locked={isBusy(purchase)}
      sharesFocus={purchase.payment.phase === "confirming"}
      attributes={{ ...area, className: `purchase purchase--${view.width}` }}
    >
      {body()}
    </Modal>
  );

  function body() {
    const { payment, contact } = purchase;
    const known = { email: contact.email, academy };
    if (student === undefined) return <p role="status">Cargando…</p>;
    switch (payment.phase) {
      case "unrecorded":
        return <Unrecorded {...known} paymentIntentId={payment.paymentIntentId} />;
      case "processing":
        return <Processing {...known} paymentIntentId={payment.paymentIntentId} />;
      case "saved":
        return <Saved email={contact.email} onClose={close} />;
    }
    if (purchase.step === "contact") {
      return (
        <ContactStep
          contact={contact}
          refused={purchase.contactErrors}
          academy={academy}
          onEdit={(edited) => dispatch({ type: "contact_edited", contact: edited })}
          onNext={() => dispatch({ type: "contact_accepted" })}
        />
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
        offer={offer}
        linkCode={linkCode}
        onPay={pay}
        onPayAnyway={payAnyway}
        onSave={saveForLater}
        onRemind={remind}
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
  }
  return step === "contact"
    ? { title: "Tus datos", stepNumber: 1, width: "narrow" }
    : { title: "Resumen y pago", stepNumber: 2, width: "wide" };
}

function prefill(student: SignedInStudent | null) {
  if (!student) return null;
  const contact = contactOf(student);
  return { contact, complete: isValid(contact) };
}

/** Who is signed in; undefined until the server has said. Without an answer: nobody. */
function useSignedInStudent(): SignedInStudent | null | undefined {
  const [student, setStudent] = useState<SignedInStudent | null>();
  useEffect(() => {
    signedInStudent().then(setStudent, () => setStudent(null));
  }, []);
  return student;
}

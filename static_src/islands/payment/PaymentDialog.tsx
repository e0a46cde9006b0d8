import { Dialog } from "@base-ui/react/dialog";
import { useEffect, useRef, useState } from "react";
import { type CartLine, toPricedItems } from "../../lib/cart";
import { BackIcon, CloseIcon } from "../../lib/icons";
import { instalmentsRefusal } from "../../lib/quote";
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
  cart: CartLine[];
  onCartChange(cart: CartLine[]): void;
  pricing: Pricing;
  academy: Academy;
};

const goTo = (url: string) => window.location.assign(url);

/**
 * From the cart to the payment (shop spec, section 2). Stays mounted while it is closed: closing
 * resets all that is seen, but the order at the server is taken up again, never doubled.
 */
export function PaymentDialog({ open, onOpenChange, cart, onCartChange, pricing, academy }: Props) {
  const { purchase, dispatch, card, pay, saveForLater, remind } = usePurchase(NEW_PURCHASE, {
    onPaid: goTo,
  });
  const student = useSignedInStudent();
  const title = useRef<HTMLHeadingElement>(null);
  const area = useVisibleArea(open);

  // biome-ignore lint/correctness/useExhaustiveDependencies: closing resets, and so does knowing who it is.
  useEffect(() => {
    if (student !== undefined) dispatch({ type: "reset", student: prefill(student) });
  }, [open, student, dispatch]);

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
    const { totalCents } = quotedOrder(pricing, cart, purchase);
    if (instalmentsRefusal(pricing, toPricedItems(cart), totalCents)) {
      dispatch({ type: "payment_type_chosen", paymentType: "full_payment" });
    }
  }, [purchase, cart, pricing, dispatch]);

  const view = viewOf(purchase);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each view is announced by its title.
  useEffect(() => {
    if (open) title.current?.focus();
  }, [view.title, open]);

  function changeOpen(next: boolean) {
    // Whoever left now might never learn that their card was charged.
    if (!next && isBusy(purchase)) return;
    onOpenChange(next);
    if (!next && purchase.payment.phase === "unrecorded") onCartChange([]);
  }

  return (
    <Dialog.Root
      open={open}
      onOpenChange={changeOpen}
      disablePointerDismissal
      // The bank's 3-D Secure frame is mounted on the body, outside of the dialog: while it may be
      // there, nothing keeps the focus in here.
      modal={purchase.payment.phase === "confirming" ? false : "trap-focus"}
    >
      <Dialog.Portal>
        <Dialog.Backdrop className="dialog__backdrop purchase-backdrop" />
        <Dialog.Popup
          className={`dialog purchase purchase--${view.width}`}
          initialFocus={title}
          {...area}
        >
          <header className="purchase__header">
            {purchase.step === "summary" && !isOver(purchase) && (
              <button
                type="button"
                className="button button--plain button--icon"
                aria-label="Volver a tus datos"
                disabled={isBusy(purchase)}
                onClick={() => dispatch({ type: "went_back" })}
              >
                <BackIcon />
              </button>
            )}
            <div className="purchase__titles">
              <Dialog.Title className="purchase__title" ref={title} tabIndex={-1}>
                {view.title}
              </Dialog.Title>
              {view.stepNumber && <p className="purchase__step">Paso {view.stepNumber} de 2</p>}
            </div>
            <Dialog.Close
              className="button button--plain button--icon"
              aria-label="Cerrar"
              disabled={isBusy(purchase)}
            >
              <CloseIcon />
            </Dialog.Close>
          </header>
          <div className="purchase__body">{body()}</div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
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
        return <Saved email={contact.email} onClose={() => changeOpen(false)} />;
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
        onPay={pay}
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

import { type ComponentType, useRef, useState, useSyncExternalStore } from "react";
import { Modal } from "../../lib/dialog/modal";
import { CartIcon } from "../../lib/icons";
import { cartPriceOptions } from "../../lib/pricing/bindingPrice";
import type { BindingQuote } from "../../lib/pricing/bindingQuote";
import { type CartLine, countLines, toPricedItems } from "../../lib/pricing/cart";
import { formatEuros } from "../../lib/pricing/money";
import { quoteCart } from "../../lib/pricing/quote";
import type { Academy } from "../../schemas/academy";
import type { UnavailableItem } from "../../schemas/checkout";
import type { Pricing } from "../../schemas/pricing";
import { preload, reportMissingDialog } from "../payment/dialogLoading";
import type { PaymentDialog } from "../payment/PaymentDialog";
import { CartContents, type Clearing } from "./CartPanel";

const loadPaymentDialog = () => import("../payment/PaymentDialog");

type Dialog = ComponentType<Parameters<typeof PaymentDialog>[0]>;

/** What is open over the catalogue: the cart, on screens without room for it, or the payment. */
type OpenDialog = "cart" | "payment" | null;

type CheckoutState = {
  Dialog: Dialog | null;
  open: OpenDialog;
  /** The code of the payment dialog is being loaded. */
  loading: boolean;
  show(open: OpenDialog): void;
  /** Load the payment dialog, and open it. */
  pay(): void;
};

/** The payment dialog, whose code is loaded when it is first needed. */
export function useCheckout(): CheckoutState {
  const [Dialog, setDialog] = useState<Dialog | null>(null);
  const [open, show] = useState<OpenDialog>(null);
  const [loading, setLoading] = useState(false);

  async function pay() {
    if (loading) return;
    setLoading(true);
    try {
      const { PaymentDialog } = await loadPaymentDialog();
      setDialog(() => PaymentDialog);
      // Whoever has closed the cart meanwhile does not want to pay now.
      show((now) => (now === open ? "payment" : now));
    } catch (error) {
      reportMissingDialog(error);
    }
    setLoading(false);
  }
  return { Dialog, open, loading, show, pay };
}

type Props = {
  checkout: CheckoutState;
  cart: CartLine[];
  onCartChange: (cart: CartLine[]) => void;
  onUnavailable: (items: UnavailableItem[]) => void;
  pricing: Pricing;
  academy: Academy;
  bindingQuote: BindingQuote | null;
  quoteNotice: string | null;
  clearing: Clearing;
  code: string;
};

/** The floating cart button, and what it opens. */
export function Checkout({ checkout, cart, onCartChange, ...props }: Props) {
  const { pricing, bindingQuote } = props;
  const { Dialog, open, loading, show, pay } = checkout;
  const button = useRef<HTMLButtonElement>(null);
  const cartIsInView = useWideScreen();
  const count = countLines(cart);
  const total = formatEuros(
    quoteCart(pricing, toPricedItems(cart), cartPriceOptions(pricing, bindingQuote, cart))
      .totalCents,
  );
  const itemCount = count === 1 ? "1 artículo" : `${count} artículos`;

  const status = (
    <p className="visually-hidden" role="status">
      {count > 0 ? `Carrito: ${itemCount}, total ${total}` : ""}
    </p>
  );

  return (
    <>
      {/* Under a dialog the page is inert, and says nothing. */}
      {open !== "cart" && status}
      {count > 0 && (
        <button
          type="button"
          ref={button}
          className="button button--large checkout"
          aria-haspopup="dialog"
          aria-busy={loading}
          onClick={cartIsInView ? pay : () => show("cart")}
          onPointerEnter={() => preload(loadPaymentDialog)}
          onFocus={() => preload(loadPaymentDialog)}
        >
          <span className="checkout__count">
            <CartIcon />
            {cartIsInView ? itemCount : `Ver carrito · ${count} · ${total}`}
          </span>
          {cartIsInView && (
            <>
              <span className="price">{total}</span>
              <span className="visually-hidden">: continuar con la compra</span>
            </>
          )}
        </button>
      )}
      {open === "cart" && (
        <Modal
          title="Tu carrito"
          opener={button}
          onClose={() => show(null)}
          attributes={{ className: "cart-sheet" }}
        >
          {status}
          <CartContents cart={cart} onChange={onCartChange} onPay={pay} busy={loading} {...props} />
        </Modal>
      )}
      {Dialog && (
        <Dialog
          open={open === "payment"}
          onOpenChange={(isOpen) => show(isOpen ? "payment" : null)}
          opener={button}
          cart={cart}
          onCartChange={onCartChange}
          onUnavailable={props.onUnavailable}
          pricing={pricing}
          academy={props.academy}
          bindingQuote={bindingQuote}
          code={props.code}
        />
      )}
    </>
  );
}

// From this width on, the cart is a column beside the subjects (`styles/pages/compra.css`).
const wideScreen = () => window.matchMedia("(width >= 68rem)");

function useWideScreen(): boolean {
  return useSyncExternalStore(
    (onChange) => {
      const query = wideScreen();
      query.addEventListener("change", onChange);
      return () => query.removeEventListener("change", onChange);
    },
    () => wideScreen().matches,
  );
}

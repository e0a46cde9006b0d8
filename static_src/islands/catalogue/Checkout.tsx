import { type ComponentType, useRef, useState } from "react";
import { cartTerms } from "../../lib/bound";
import { type CartLine, countLines, toPricedItems } from "../../lib/cart";
import { CartIcon } from "../../lib/icons";
import { formatEuros } from "../../lib/money";
import type { Offer } from "../../lib/offer";
import { quoteCart } from "../../lib/quote";
import { toast } from "../../lib/toast";
import type { Academy } from "../../schemas/academy";
import type { Pricing } from "../../schemas/pricing";
import type { PaymentDialog } from "../payment/PaymentDialog";

type Dialog = ComponentType<Parameters<typeof PaymentDialog>[0]>;

const loadDialog = () => import("../payment/PaymentDialog");

type Props = {
  cart: CartLine[];
  onCartChange: (cart: CartLine[]) => void;
  pricing: Pricing;
  academy: Academy;
  offer: Offer | null;
  code: string;
};

/** The floating cart button, and the payment dialog that arrives with the first wish for it. */
export function Checkout({ cart, onCartChange, pricing, academy, offer, code }: Props) {
  const [Dialog, setDialog] = useState<Dialog | null>(null);
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const count = countLines(cart);
  const total = formatEuros(
    quoteCart(pricing, toPricedItems(cart), cartTerms(offer, cart)).totalCents,
  );
  const things = count === 1 ? "1 artículo" : `${count} artículos`;

  const openDialog = async () => {
    try {
      const { PaymentDialog } = await loadDialog();
      setDialog(() => PaymentDialog);
      setOpen(true);
    } catch (error) {
      console.error(error);
      toast({
        title: "Error",
        text: "No hemos podido abrir el pago. Comprueba tu conexión e inténtalo de nuevo.",
        tone: "error",
      });
    }
  };
  // Pointing at the button is wish enough to fetch what it opens; a failure shows on the press.
  const warmUp = () => void loadDialog().catch(() => undefined);

  return (
    <>
      <p className="visually-hidden" role="status">
        {count > 0 ? `Carrito: ${things}, total ${total}` : ""}
      </p>
      {count > 0 && (
        <button
          type="button"
          ref={button}
          className="button button--large checkout"
          aria-haspopup="dialog"
          onClick={openDialog}
          onPointerEnter={warmUp}
          onFocus={warmUp}
        >
          <span className="checkout__count">
            <CartIcon />
            {things}
          </span>
          <span className="price">{total}</span>
          <span className="visually-hidden">: continuar con la compra</span>
        </button>
      )}
      {Dialog && (
        <Dialog
          open={open}
          onOpenChange={setOpen}
          opener={button}
          cart={cart}
          onCartChange={onCartChange}
          pricing={pricing}
          academy={academy}
          offer={offer}
          code={code}
        />
      )}
    </>
  );
}

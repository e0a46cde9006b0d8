import { type ComponentType, useRef, useState } from "react";
import { cartPriceOptions } from "../../lib/bindingPrice";
import type { BindingQuote } from "../../lib/bindingQuote";
import { type CartLine, countLines, toPricedItems } from "../../lib/cart";
import { CartIcon } from "../../lib/icons";
import { formatEuros } from "../../lib/money";
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
  bindingQuote: BindingQuote | null;
  code: string;
};

/**
 * The floating cart button and the payment dialog, whose code is loaded when it is first needed.
 */
export function Checkout({ cart, onCartChange, pricing, academy, bindingQuote, code }: Props) {
  const [Dialog, setDialog] = useState<Dialog | null>(null);
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const count = countLines(cart);
  const total = formatEuros(
    quoteCart(pricing, toPricedItems(cart), cartPriceOptions(bindingQuote, cart)).totalCents,
  );
  const itemCount = count === 1 ? "1 artículo" : `${count} artículos`;

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
  // Load the dialog when the button is pointed at or focused. A failure is reported on click.
  const preload = () => void loadDialog().catch(() => undefined);

  return (
    <>
      <p className="visually-hidden" role="status">
        {count > 0 ? `Carrito: ${itemCount}, total ${total}` : ""}
      </p>
      {count > 0 && (
        <button
          type="button"
          ref={button}
          className="button button--large checkout"
          aria-haspopup="dialog"
          onClick={openDialog}
          onPointerEnter={preload}
          onFocus={preload}
        >
          <span className="checkout__count">
            <CartIcon />
            {itemCount}
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
          bindingQuote={bindingQuote}
          code={code}
        />
      )}
    </>
  );
}

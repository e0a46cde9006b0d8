import { type ReactNode, useEffect, useRef } from "react";
import { formatEuros } from "../../lib/pricing/money";

/**
 * Why the server refused the order. On a phone the pay button that was pressed is far below the
 * order, so the notice is scrolled into view and gets the focus.
 */
export function RefusalNotice({ children }: { children: ReactNode }) {
  const notice = useRef<HTMLDivElement>(null);
  useEffect(() => {
    notice.current?.focus({ preventScroll: true });
    notice.current?.scrollIntoView({ block: "center" });
  }, []);
  return (
    <div className="notice notice--warning refusal" role="alert" tabIndex={-1} ref={notice}>
      {children}
    </div>
  );
}

/** Bring the notice back into view: the buyer has to decide about it before paying. */
export function focusRefusal(): void {
  document.querySelector<HTMLElement>(".refusal")?.focus();
}

/** Focus the pay button, because the pressed button disappears with its notice. */
export function focusPayButton(): void {
  document.querySelector<HTMLElement>(".pay-bar__pay")?.focus();
}

/**
 * The price has changed since the page showed it. The pay button does nothing until the buyer has
 * accepted the new total, so that a second impatient press does not buy at another price.
 */
export function PriceChanged({ totalCents, onAccept }: { totalCents: number; onAccept(): void }) {
  const total = formatEuros(totalCents);
  return (
    <RefusalNotice>
      <p>
        <strong>El precio ha cambiado.</strong> El total es ahora {total}. No se ha cobrado nada.
      </p>
      <button
        type="button"
        className="button button--quiet"
        onClick={() => {
          focusPayButton();
          onAccept();
        }}
      >
        Aceptar {total}
      </button>
    </RefusalNotice>
  );
}

/** The payment dialog's code, which is loaded when it is first needed. */
import { createElement, type ReactNode, useEffect, useState } from "react";
import { PENDING_PAYMENT, trySessionStorage } from "./sessionStorage";
import { toast } from "./toast";

export const loadPaymentDialog = () => import("../islands/payment/PaymentDialog");

/** Load the code when a button is pointed at or focused. A failure is reported on click. */
export const preloadPaymentDialog = () => void loadPaymentDialog().catch(() => undefined);

export function reportMissingDialog(error: unknown): void {
  console.error(error);
  toast({
    title: "Error",
    text: navigator.onLine
      ? "No hemos podido abrir el pago. Comprueba tu conexión e inténtalo de nuevo."
      : "No tienes conexión a internet. Tu selección sigue aquí: cuando vuelva, inténtalo otra vez.",
    tone: "error",
  });
}

/** The offer to continue with this tab's unfinished purchase. Its code is loaded if there is one. */
export function useUnfinishedPurchase(): ReactNode {
  const [offer, setOffer] = useState<ReactNode>(null);
  useEffect(() => {
    if (!trySessionStorage((storage) => storage.getItem(PENDING_PAYMENT))) return;
    import("../islands/payment/UnfinishedPurchase").then(
      ({ UnfinishedPurchase }) => setOffer(createElement(UnfinishedPurchase)),
      () => undefined,
    );
  }, []);
  return offer;
}

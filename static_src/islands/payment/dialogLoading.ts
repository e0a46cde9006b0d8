/**
 * What the islands do while the code of the payment dialog is loaded, when it is first needed. Each
 * island passes its own `import()`: the dialog shares this module (`buying.ts`), which must not
 * import it.
 */
import { type ComponentType, createElement, type ReactNode, useEffect, useState } from "react";
import { PENDING_PAYMENT, trySessionStorage } from "../../lib/page/sessionStorage";
import { toast } from "../../lib/page/toast";

/** Load the code when a button is pointed at or focused. A failure is reported on click. */
export const preload = (load: () => Promise<unknown>) => void load().catch(() => undefined);

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
export function useUnfinishedPurchase(
  load: () => Promise<{ UnfinishedPurchase: ComponentType }>,
): ReactNode {
  const [offer, setOffer] = useState<ReactNode>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once.
  useEffect(() => {
    if (!trySessionStorage((storage) => storage.getItem(PENDING_PAYMENT))) return;
    load().then(
      ({ UnfinishedPurchase }) => setOffer(createElement(UnfinishedPurchase)),
      () => undefined,
    );
  }, []);
  return offer;
}

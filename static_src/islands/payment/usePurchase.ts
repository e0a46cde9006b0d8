import { type RefObject, useCallback, useEffect, useReducer, useRef } from "react";
import { dismissToasts, toast } from "../../lib/toast";
import { useOneAtATime } from "../../lib/useOneAtATime";
import type { CardHandle, CardOutcome } from "./CardForm";
import {
  type CheckoutCart,
  checkoutBody,
  completePayment,
  processCheckout,
  successUrl,
} from "./checkoutApi";
import { redirectToHostedCheckout } from "./hostedCheckout";
import { rememberPayment } from "./pendingPayment";
import {
  BANK_DECLINED,
  cardErrorMessage,
  NO_SECRET_OR_URL,
  PAYMENT_ERROR,
  type Refusal,
  refusalOf,
} from "./refusals";
import { canPay, isBusy, type Purchase, type PurchaseEvent, purchaseReducer } from "./state";

const CARD_NOT_READY = "El formulario de pago no está listo...";

/** The toasts of before are about another step, or about an attempt that is being repeated. */
const NEXT_STEP = new Set<PurchaseEvent["type"]>([
  "contact_accepted",
  "went_back",
  "preparing",
  "saving",
  "confirming",
]);

/** A random UUID, or null: browsers offer `randomUUID` only on https and localhost. */
const newOrderKey = (): string | null => window.crypto.randomUUID?.() ?? null;

type PurchaseActions = {
  purchase: Purchase;
  dispatch(event: PurchaseEvent): void;
  /** The first call requests the client secret, the next call confirms the card. */
  pay(checkoutCart: CheckoutCart): Promise<void>;
  /** As `pay`, after the buyer has confirmed buying items they have already bought. */
  buyAgain(checkoutCart: CheckoutCart): Promise<void>;
  saveForLater(checkoutCart: CheckoutCart): Promise<void>;
  /** Turn cart reminders on or off; an existing order is updated at the server. */
  setReminders(checkoutCart: CheckoutCart, ticked: boolean): void;
  card: RefObject<CardHandle | null>;
  /** The bank was confirming the payment and has declined it: the buyer can use another card. */
  bankDeclined(): void;
};

/**
 * State and actions of a purchase. There is never more than one checkout call or card confirmation
 * at a time, however fast the buyer clicks. `onPaid` gets the address of the success page once the
 * server has recorded the payment.
 */
export function usePurchase(
  initial: Purchase,
  { onPaid }: { onPaid(successUrl: string): void },
): PurchaseActions {
  const [purchase, reduce] = useReducer(purchaseReducer, initial);
  const dispatch = useCallback((event: PurchaseEvent) => {
    if (NEXT_STEP.has(event.type)) dismissToasts();
    reduce(event);
  }, []);
  const card = useRef<CardHandle | null>(null);
  const oneAtATime = useOneAtATime();
  // The idempotency key of the first checkout. If its response is lost, the next attempt sends the
  // same key and the server finds the order. Once the order is known, a later order needs a new
  // key.
  const orderKey = useRef(newOrderKey());
  useEffect(() => {
    if (purchase.order) orderKey.current = newOrderKey();
  }, [purchase.order]);

  // After the back button, the browser may restore this page in its busy state, which would never
  // end.
  const busy = isBusy(purchase);
  const redirected = purchase.payment.phase === "redirected";
  useEffect(() => {
    if (!busy) return;
    const onRestore = (event: PageTransitionEvent) => {
      if (!event.persisted) return;
      if (redirected) dispatch({ type: "returned" });
      else window.location.reload();
    };
    window.addEventListener("pageshow", onRestore);
    return () => window.removeEventListener("pageshow", onRestore);
  }, [busy, redirected, dispatch]);

  async function complete(paymentIntentId: string): Promise<void> {
    dispatch({ type: "charged", paymentIntentId });
    try {
      await completePayment(paymentIntentId);
    } catch {
      dispatch({ type: "completion_failed" });
      return;
    }
    onPaid(successUrl(paymentIntentId));
  }

  async function refuse(refusal: Refusal): Promise<void> {
    dispatch({ type: "refused", refusal });
    switch (refusal.kind) {
      case "problem":
      case "not_prepared":
      case "order_gone":
        toast({ title: refusal.title, text: refusal.text, tone: "error" });
        return;
      case "instalments_refused":
        toast({ title: PAYMENT_ERROR, text: refusal.text, tone: "error" });
        return;
      case "promo_refused":
        toast({ title: "Código inválido", text: refusal.text, tone: "error" });
        return;
      case "already_paid":
      case "payment_in_progress":
        await showExistingPayment(refusal);
    }
  }

  /** The order has a payment already: show its state instead of starting another payment. */
  async function showExistingPayment(
    refusal: Refusal & { kind: "already_paid" | "payment_in_progress" },
  ): Promise<void> {
    const paymentIntentId = refusal.paymentIntentId ?? purchase.lastPaymentId;
    if (refusal.kind === "already_paid") {
      if (paymentIntentId) onPaid(successUrl(paymentIntentId));
      else
        toast({
          title: "Este pedido ya está pagado",
          text: "No se ha cobrado nada más. La confirmación está en tu email.",
          tone: "info",
        });
      return;
    }
    const completion = paymentIntentId
      ? await completePayment(paymentIntentId).catch(() => null)
      : null;
    if (paymentIntentId && completion && completion.status !== "processing")
      onPaid(successUrl(paymentIntentId));
    else dispatch({ type: "bank_is_confirming", paymentIntentId: paymentIntentId ?? "" });
  }

  async function checkout(
    checkoutCart: CheckoutCart,
    { saveForLater = false, buyAgain = purchase.buyAgain } = {},
  ): Promise<void> {
    dispatch({ type: saveForLater ? "saving" : "preparing" });
    const body = checkoutBody({ ...purchase, buyAgain }, checkoutCart, {
      saveForLater,
      orderKey: orderKey.current,
    });
    const response = await processCheckout(body).catch((error: unknown) => refusalOf(error));
    if ("kind" in response) return refuse(response);
    dispatch({ type: "responded", response });
    switch (response.next.kind) {
      case "hosted":
        return redirectToHostedCheckout(response.next.url, response.next.sessionId, response);
      case "completed": {
        const { redirect } = response.next;
        const { searchParams } = new URL(redirect, window.location.href);
        rememberPayment(searchParams.get("payment_intent_id") ?? "", response);
        onPaid(redirect);
        return;
      }
      case "none":
        toast({ title: PAYMENT_ERROR, text: NO_SECRET_OR_URL, tone: "error" });
    }
  }

  async function confirm(paymentIntentId: string): Promise<void> {
    if (!card.current) {
      toast({ title: "Error", text: CARD_NOT_READY, tone: "error" });
      return;
    }
    dispatch({ type: "confirming" });
    if (purchase.order) rememberPayment(paymentIntentId, purchase.order);
    const outcome = await card.current
      .confirm(`${window.location.origin}${successUrl(paymentIntentId)}`)
      .catch((): CardOutcome => ({ kind: "declined", text: cardErrorMessage({}), final: false }));
    switch (outcome.kind) {
      case "charged":
        return complete(paymentIntentId);
      case "bank_is_confirming":
        dispatch({ type: "bank_is_confirming", paymentIntentId });
        return;
      case "declined":
        dispatch({ type: "card_declined", text: outcome.text, final: outcome.final });
        toast({ title: PAYMENT_ERROR, text: outcome.text, tone: "error" });
    }
  }

  function setReminders(checkoutCart: CheckoutCart, ticked: boolean): void {
    dispatch({ type: "box_ticked", box: "reminders", ticked });
    if (purchase.payment.phase !== "card") return;
    const changed = { ...purchase, boxes: { ...purchase.boxes, reminders: ticked } };
    // This does not change the order's payment. If the call fails, only the reminder setting is
    // lost.
    processCheckout(checkoutBody(changed, checkoutCart, { saveForLater: false })).catch(
      () => undefined,
    );
  }

  function bankDeclined(): void {
    dispatch({ type: "bank_declined", text: BANK_DECLINED });
    toast({ title: PAYMENT_ERROR, text: BANK_DECLINED, tone: "error" });
  }

  return {
    purchase,
    dispatch,
    card,
    bankDeclined,
    pay: (checkoutCart) =>
      oneAtATime(async () => {
        if (!canPay(purchase)) return;
        if (purchase.payment.phase === "none") await checkout(checkoutCart);
        if (purchase.payment.phase === "card") await confirm(purchase.payment.paymentIntentId);
      }),
    setReminders,
    buyAgain: (checkoutCart) =>
      oneAtATime(async () => {
        if (!canPay(purchase)) return;
        dispatch({ type: "buy_again" });
        await checkout(checkoutCart, { buyAgain: true });
      }),
    saveForLater: (checkoutCart) =>
      oneAtATime(() => checkout(checkoutCart, { saveForLater: true })),
  };
}

import { type RefObject, useEffect, useReducer, useRef } from "react";
import { toast } from "../../lib/toast";
import type { CardHandle, CardOutcome } from "./CardForm";
import { type Basket, checkoutBody, completePayment, processCheckout, successUrl } from "./calls";
import { leaveForPage } from "./hosted";
import { rememberPayment } from "./pending";
import { cardSentence, NO_SECRET_OR_URL, PAYMENT_ERROR, type Refusal, refusalOf } from "./refusals";
import { isBusy, mayPay, type Purchase, type PurchaseEvent, purchaseReducer } from "./state";

const CARD_NOT_READY = "El formulario de pago no está listo...";

/** Without https a browser has none to give, and the shop does without. */
const newKey = (): string | null => window.crypto.randomUUID?.() ?? null;

type PurchaseDoor = {
  purchase: Purchase;
  dispatch(event: PurchaseEvent): void;
  /** Pay: the first press asks for the secret, the next one confirms the card. */
  pay(basket: Basket): Promise<void>;
  /** As `pay`, by a buyer who was told what they own already. */
  payAnyway(basket: Basket): Promise<void>;
  saveForLater(basket: Basket): Promise<void>;
  /** Tick or untick the reminders; the server hears of it even when it has the order already. */
  remind(basket: Basket, ticked: boolean): void;
  card: RefObject<CardHandle | null>;
};

/**
 * The payment flow of shop spec, section 4. Never two calls or two confirmations at a time,
 * however fast somebody clicks. `onPaid` gets the address of the success page, once the server has
 * recorded the payment.
 */
export function usePurchase(
  initial: Purchase,
  { onPaid }: { onPaid(successUrl: string): void },
): PurchaseDoor {
  const [purchase, dispatch] = useReducer(purchaseReducer, initial);
  const card = useRef<CardHandle | null>(null);
  const working = useRef(false);
  // Where the first answer is lost, the next press finds the order that it made by this; where the
  // order is known, the key belongs to one that may come after it.
  const orderKey = useRef(newKey());
  useEffect(() => {
    if (purchase.order) orderKey.current = newKey();
  }, [purchase.order]);

  // Back from another page, a browser may show this one as it was left: at work, for ever.
  const busy = isBusy(purchase);
  const away = purchase.payment.phase === "away";
  useEffect(() => {
    if (!busy) return;
    const startAnew = (event: PageTransitionEvent) => {
      if (!event.persisted) return;
      if (away) dispatch({ type: "came_back" });
      else window.location.reload();
    };
    window.addEventListener("pageshow", startAnew);
    return () => window.removeEventListener("pageshow", startAnew);
  }, [busy, away]);

  // State arrives with the next render; a second click may come before it.
  async function alone(work: () => Promise<void>): Promise<void> {
    if (working.current) return;
    working.current = true;
    try {
      await work();
    } finally {
      working.current = false;
    }
  }

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
        await settle(refusal);
    }
  }

  /** The order has a payment already: show how it stands instead of taking another one. */
  async function settle(
    refusal: Refusal & { kind: "already_paid" | "payment_in_progress" },
  ): Promise<void> {
    const paymentIntentId = refusal.paymentIntentId ?? purchase.lastPaymentId;
    if (refusal.kind === "already_paid") {
      if (paymentIntentId) onPaid(successUrl(paymentIntentId));
      else toast({ title: "Este pedido ya está pagado", tone: "info" });
      return;
    }
    const answer = paymentIntentId
      ? await completePayment(paymentIntentId).catch(() => null)
      : null;
    if (paymentIntentId && answer && answer.status !== "processing")
      onPaid(successUrl(paymentIntentId));
    else dispatch({ type: "bank_is_confirming", paymentIntentId: paymentIntentId ?? "" });
  }

  async function checkout(
    basket: Basket,
    { saveForLater = false, buyAgain = purchase.buyAgain } = {},
  ): Promise<void> {
    dispatch({ type: saveForLater ? "saving" : "preparing" });
    const body = checkoutBody({ ...purchase, buyAgain }, basket, {
      saveForLater,
      orderKey: orderKey.current,
    });
    const answer = await processCheckout(body).catch((error: unknown) => refusalOf(error));
    if ("kind" in answer) return refuse(answer);
    dispatch({ type: "answered", answer });
    switch (answer.next.kind) {
      case "hosted":
        return leaveForPage(answer.next.url, answer.next.sessionId, answer);
      case "completed":
        onPaid(answer.next.redirect);
        return;
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
      .catch((): CardOutcome => ({ kind: "refused", text: cardSentence({}), final: false }));
    switch (outcome.kind) {
      case "charged":
        return complete(paymentIntentId);
      case "bank_is_confirming":
        dispatch({ type: "bank_is_confirming", paymentIntentId });
        // The server learns of it now rather than with the webhook; if not, nothing is lost.
        await completePayment(paymentIntentId).catch(() => undefined);
        return;
      case "refused":
        dispatch({ type: "card_refused", text: outcome.text, final: outcome.final });
        toast({ title: PAYMENT_ERROR, text: outcome.text, tone: "error" });
    }
  }

  function remind(basket: Basket, ticked: boolean): void {
    dispatch({ type: "box_ticked", box: "reminders", ticked });
    if (purchase.payment.phase !== "card") return;
    const changed = { ...purchase, boxes: { ...purchase.boxes, reminders: ticked } };
    // The order and its payment stay as they are; without an answer only a reminder is lost.
    processCheckout(checkoutBody(changed, basket, { saveForLater: false })).catch(() => undefined);
  }

  return {
    purchase,
    dispatch,
    card,
    pay: (basket) =>
      alone(async () => {
        if (!mayPay(purchase)) return;
        if (purchase.payment.phase === "none") await checkout(basket);
        if (purchase.payment.phase === "card") await confirm(purchase.payment.paymentIntentId);
      }),
    remind,
    payAnyway: (basket) =>
      alone(async () => {
        if (!mayPay(purchase)) return;
        dispatch({ type: "wanted_again" });
        await checkout(basket, { buyAgain: true });
      }),
    saveForLater: (basket) => alone(() => checkout(basket, { saveForLater: true })),
  };
}

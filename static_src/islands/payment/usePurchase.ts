import { type RefObject, useCallback, useEffect, useReducer, useRef } from "react";
import { dismissToasts, toast } from "../../lib/page/toast";
import type { CheckoutResponse } from "../../schemas/checkout";
import type { CardHandle, CardOutcome } from "./CardForm";
import {
  type CheckoutCart,
  checkoutBody,
  completePayment,
  processCheckout,
  successUrl,
} from "./checkoutApi";
import { contactErrors } from "./contact";
import { giftErrors } from "./gift";
import { redirectToHostedCheckout } from "./hostedCheckout";
import { recoveryUrl, rememberPayment } from "./pendingPayment";
import {
  BANK_DECLINED,
  cardErrorMessage,
  NO_SECRET_OR_URL,
  PAYMENT_ERROR,
  type Refusal,
  refusalOf,
} from "./refusals";
import { canPay, isBusy, type Purchase, type PurchaseEvent, purchaseReducer } from "./state";
import { useOneAtATime } from "./useOneAtATime";
import type { WalletPayment } from "./Wallets";

const OTHER_AMOUNT =
  "El importe ha cambiado mientras pagabas. No se ha cobrado nada: revísalo e inténtalo de nuevo.";
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

const returnUrl = (paymentIntentId: string): string =>
  `${window.location.origin}${successUrl(paymentIntentId)}`;

const confirmFailed = (): CardOutcome => ({
  kind: "declined",
  text: cardErrorMessage({}),
  final: false,
});

/** What a checkout sends in place of the purchase's own data. */
type CheckoutChanges = Partial<Pick<Purchase, "buyAgain" | "contact" | "boxes">> & {
  saveForLater?: boolean;
  byTransfer?: boolean;
};

type PurchaseActions = {
  purchase: Purchase;
  dispatch(event: PurchaseEvent): void;
  /** The first call requests the client secret, the next call confirms the card. */
  pay(checkoutCart: CheckoutCart): Promise<void>;
  /** As `pay`, after the buyer has confirmed buying items they have already bought. */
  buyAgain(checkoutCart: CheckoutCart): Promise<void>;
  /** Pay with what a wallet has authorized. The boxes beside the wallet are ticked. */
  payWithWallet(checkoutCart: CheckoutCart, wallet: WalletPayment): Promise<void>;
  saveForLater(checkoutCart: CheckoutCart): Promise<void>;
  /** Let the order wait for a bank transfer. */
  payByTransfer(checkoutCart: CheckoutCart): Promise<void>;
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
  const { order } = purchase;
  useEffect(() => {
    if (!busy) return;
    const onRestore = (event: PageTransitionEvent) => {
      if (!event.persisted) return;
      if (redirected) dispatch({ type: "returned" });
      // Back from Bizum or PayPal. A reload of /compra would lose the cart.
      else if (order) window.location.replace(recoveryUrl(order));
      else window.location.reload();
    };
    window.addEventListener("pageshow", onRestore);
    return () => window.removeEventListener("pageshow", onRestore);
  }, [busy, redirected, order, dispatch]);

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

  /** Send the checkout. Returns the server's response, or why it refused. */
  function request(
    checkoutCart: CheckoutCart,
    { saveForLater = false, byTransfer = false, ...changed }: CheckoutChanges = {},
  ): Promise<CheckoutResponse | Refusal> {
    dispatch({ type: saveForLater ? "saving" : "preparing" });
    const body = checkoutBody({ ...purchase, ...changed }, checkoutCart, {
      saveForLater,
      byTransfer,
      orderKey: orderKey.current,
    });
    return processCheckout(body).catch((error: unknown) => refusalOf(error));
  }

  async function checkout(checkoutCart: CheckoutCart, changes?: CheckoutChanges): Promise<void> {
    const response = await request(checkoutCart, changes);
    if ("kind" in response) return refuse(response);
    return follow(response);
  }

  async function follow(response: CheckoutResponse): Promise<void> {
    dispatch({ type: "responded", response });
    switch (response.next.kind) {
      case "hosted":
        return redirectToHostedCheckout(response.next.url, response.next.sessionId, response);
      case "card":
        return rememberPayment(response.next.paymentIntentId, response);
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
    const outcome = await card.current.confirm(returnUrl(paymentIntentId)).catch(confirmFailed);
    return settle(outcome, paymentIntentId);
  }

  async function settle(outcome: CardOutcome, paymentIntentId: string): Promise<void> {
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

  async function confirmWallet(checkoutCart: CheckoutCart, wallet: WalletPayment): Promise<void> {
    let { payment, order } = purchase;
    const contact = wallet.contact ?? purchase.contact;
    if (wallet.contact) {
      dispatch({ type: "wallet_contact", contact });
      const errors = {
        ...contactErrors(contact),
        ...giftErrors(purchase.gift, contact.email),
      };
      if (Object.keys(errors).length > 0) {
        wallet.fail();
        return refuse({ kind: "contact", errors });
      }
    }
    if (payment.phase === "card" && !wallet.contact) dispatch({ type: "confirming" });
    else {
      const boxes = { ...purchase.boxes, adult: true, withdrawal: true };
      const response = await request(checkoutCart, { contact, boxes });
      if ("kind" in response) {
        wallet.fail();
        return refuse(response);
      }
      if (response.next.kind !== "card") {
        wallet.fail();
        return follow(response);
      }
      dispatch({ type: "responded", response, byWallet: true });
      payment = { phase: "wallet", ...response.next };
      order = response;
    }
    const { clientSecret, paymentIntentId, dueCents } = payment;
    if (dueCents !== wallet.amountCents) {
      // The wallet has shown another amount, so nothing may be charged.
      wallet.fail();
      return settle({ kind: "declined", text: OTHER_AMOUNT, final: false }, paymentIntentId);
    }
    if (order) rememberPayment(paymentIntentId, order);
    const outcome = await wallet
      .confirm(clientSecret, returnUrl(paymentIntentId))
      .catch(confirmFailed);
    if (outcome.kind === "declined") wallet.fail();
    return settle(outcome, paymentIntentId);
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
    payWithWallet: async (checkoutCart, wallet) => {
      let taken = false;
      await oneAtATime(() => {
        taken = true;
        return confirmWallet(checkoutCart, wallet);
      });
      if (!taken) wallet.fail();
    },
    setReminders,
    buyAgain: (checkoutCart) =>
      oneAtATime(async () => {
        if (!canPay(purchase)) return;
        dispatch({ type: "buy_again" });
        await checkout(checkoutCart, { buyAgain: true });
      }),
    payByTransfer: (checkoutCart) =>
      oneAtATime(async () => {
        if (canPay(purchase)) await checkout(checkoutCart, { byTransfer: true });
      }),
    saveForLater: (checkoutCart) =>
      oneAtATime(() => checkout(checkoutCart, { saveForLater: true })),
  };
}

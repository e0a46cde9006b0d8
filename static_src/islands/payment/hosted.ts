/** To Stripe's own page (STRIPE_CHECKOUT=hosted), with a way back for each browser. */
import { orderQuery, rememberPayment } from "./pending";
import type { OrderKey } from "./state";

/**
 * Goes to the page of a session. A browser that comes back by its own button either shows this page
 * as it was left, or loads what its address says: by then the saved order, as a cart would be lost.
 */
export function leaveForPage(url: string, sessionId: string, order: OrderKey): void {
  rememberPayment(sessionId, order);
  const { href } = window.location;
  const moveTo = (address: string) => window.history.replaceState(history.state, "", address);
  moveTo(`/complete-payment?${orderQuery(order)}`);
  window.addEventListener("pageshow", () => moveTo(href), { once: true });
  window.location.assign(url);
}

/** The redirect to Stripe's hosted payment page (STRIPE_CHECKOUT=hosted). */

import type { OrderCredentials } from "../../schemas/checkout";
import { recoveryUrl, rememberPayment } from "./pendingPayment";

/**
 * Redirect to the page of a Checkout Session. If the buyer returns with the back button, the
 * browser either restores this page from its cache or reloads the page's address. A reload would
 * lose the cart, so the address is changed to the page of the saved order, and back again if the
 * page is restored.
 */
export function redirectToHostedCheckout(
  url: string,
  sessionId: string,
  order: OrderCredentials,
): void {
  rememberPayment(sessionId, order);
  const { href } = window.location;
  const setAddress = (address: string) => window.history.replaceState(history.state, "", address);
  setAddress(recoveryUrl(order));
  window.addEventListener("pageshow", () => setAddress(href), { once: true });
  window.location.assign(url);
}

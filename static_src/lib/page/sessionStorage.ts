/**
 * The contact data of a quote that the calculator has sent: {path, email, phone} as JSON. The shop
 * reads it when `path`, the quote's link, is opened in the same tab.
 */
export const QUOTE_CONTACT = "quote-contact";

/** The order of a payment in progress (`islands/payment/pendingPayment.ts`). */
export const PENDING_PAYMENT = "payment";

/**
 * The result of `access` on this tab's sessionStorage, or null where the browser blocks site data:
 * there every access throws. Payments must work without anything stored here.
 */
export function trySessionStorage<T>(access: (storage: Storage) => T): T | null {
  try {
    return access(window.sessionStorage);
  } catch {
    return null;
  }
}

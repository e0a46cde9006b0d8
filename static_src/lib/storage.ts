/**
 * What `access` makes of this tab's storage; null in a browser that blocks all site data, where
 * every access throws. Nothing here may be needed for a payment.
 */
export function stored<T>(access: (storage: Storage) => T): T | null {
  try {
    return access(window.sessionStorage);
  } catch {
    return null;
  }
}

import { QUOTE_CONTACT, trySessionStorage } from "../../lib/page/sessionStorage";
import { type Contact, contactOf, EMPTY_CONTACT } from "./contact";

type Kept = { path: string; email: string; phone: string };

/**
 * The contact data that the calculator kept for the quote's link, if that link is the page's
 * address. The buyer has not accepted the terms with it. Null without such data.
 */
export function contactOfQuote(page: { pathname: string; search: string }): Contact | null {
  const kept = trySessionStorage((storage) => storage.getItem(QUOTE_CONTACT));
  if (!kept) return null;
  const { path, email, phone } = JSON.parse(kept) as Kept;
  if (path !== page.pathname + page.search) return null;
  const international = phone.trim().replace(/^00/, "+");
  return {
    ...contactOf({
      email,
      phone: international.startsWith("+") ? international : `+${EMPTY_CONTACT.prefix}${phone}`,
    }),
    termsAccepted: false,
    privacyAccepted: false,
  };
}

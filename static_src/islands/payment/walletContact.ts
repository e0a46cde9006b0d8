/** The contact data that a wallet hands over with a payment. */
import { type Contact, EMPTY_CONTACT, typedPhone } from "./contact";

/**
 * The buyer's contact data from the wallet's sheet. A phone number without its country prefix counts
 * as Spanish. The buyer has ticked the box beside the wallets, which names terms and privacy policy.
 */
export function contactOfWallet(details: { email?: string; phone?: string } | undefined): Contact {
  return {
    email: details?.email ?? "",
    ...typedPhone(details?.phone ?? "", EMPTY_CONTACT.prefix),
    termsAccepted: true,
    privacyAccepted: true,
    besideWallet: true,
  };
}

import * as z from "zod/mini";

/** The `academy` prop of islands: legal name, contact data and the checkout mode. */
export const Academy = z.pipe(
  z.object({
    legal_name: z.string(),
    support_email: z.string(),
    support_phone: z.string(),
    other_payments: z.string(),
    bizum: z.boolean(),
    paypal: z.boolean(),
    transfer: z.boolean(),
    hosted_checkout: z.boolean(),
    wallets: z.boolean(),
  }),
  z.transform((academy) => ({
    legalName: academy.legal_name,
    supportEmail: academy.support_email,
    supportPhone: academy.support_phone,
    /** By e-mail only: "transferencia bancaria". Empty if there are none. */
    otherPayments: academy.other_payments,
    /** Offered besides the card when an order is paid at once. */
    bizum: academy.bizum,
    paypal: academy.paypal,
    transfer: academy.transfer,
    /** Payments are made on Stripe's hosted page (STRIPE_CHECKOUT=hosted), not in the dialog. */
    hostedCheckout: academy.hosted_checkout,
    /** Offer Apple Pay, Google Pay, Link… where the browser has one (STRIPE_WALLETS). */
    wallets: academy.wallets,
  })),
);
export type Academy = z.output<typeof Academy>;

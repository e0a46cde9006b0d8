import * as z from "zod/mini";

/** The `academy` prop of islands: who it is in law, how to reach it, and where it is paid. */
export const Academy = z.pipe(
  z.object({
    legal_name: z.string(),
    support_email: z.string(),
    support_phone: z.string(),
    hosted_checkout: z.boolean(),
  }),
  z.transform((academy) => ({
    legalName: academy.legal_name,
    supportEmail: academy.support_email,
    supportPhone: academy.support_phone,
    /** On Stripe's own page (STRIPE_CHECKOUT=hosted) rather than in the dialog. */
    hostedCheckout: academy.hosted_checkout,
  })),
);
export type Academy = z.output<typeof Academy>;

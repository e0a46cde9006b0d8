import * as z from "zod/mini";

/** The `academy` prop of islands: who it is in law, and how to reach it. */
export const Academy = z.pipe(
  z.object({ legal_name: z.string(), support_email: z.string(), support_phone: z.string() }),
  z.transform((academy) => ({
    legalName: academy.legal_name,
    supportEmail: academy.support_email,
    supportPhone: academy.support_phone,
  })),
);
export type Academy = z.output<typeof Academy>;

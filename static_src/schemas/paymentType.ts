import * as z from "zod/mini";

/** How an order is paid: at once or in instalments. The API spells it "installment". */
export const PaymentType = z.enum(["full_payment", "installment"]);
export type PaymentType = z.output<typeof PaymentType>;

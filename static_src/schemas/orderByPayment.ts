import * as z from "zod/mini";
import { cents } from "./money";

/** The response of GET /api/orders/by-payment. Parsed amounts are in cents. */
export const OrderByPayment = z.pipe(
  z.object({
    id: z.number(),
    reference: z.string(),
    status: z.string(),
    created_at: z.string(),
    total_amount: cents,
    amount_paid: cents,
    items_count: z.number().check(z.nonnegative()),
    account_status: z.nullable(z.enum(["pending", "created", "failed"])),
    student: z.object({ first_name: z.string(), email: z.string() }),
    gift: z.optional(
      z.object({
        email: z.string(),
        deliver_on: z.string(),
        status: z.enum(["waiting", "delivered", "canceled"]),
      }),
    ),
    bought_twice: z.optional(z.array(z.string())),
    refund: z.optional(z.object({ amount: cents, access: z.enum(["kept", "partly", "ended"]) })),
  }),
  z.transform((order) => ({
    id: order.id,
    reference: order.reference,
    status: order.status,
    createdAt: new Date(order.created_at),
    totalCents: order.total_amount,
    paidCents: order.amount_paid,
    itemsCount: order.items_count,
    accountStatus: order.account_status,
    gift: order.gift && {
      email: order.gift.email,
      deliverOn: order.gift.deliver_on,
      status: order.gift.status,
    },
    refund: order.refund && {
      amountCents: order.refund.amount,
      access: order.refund.access,
    },
    boughtTwice: order.bought_twice ?? [],
    student: { firstName: order.student.first_name, email: order.student.email },
  })),
);
export type OrderByPayment = z.output<typeof OrderByPayment>;

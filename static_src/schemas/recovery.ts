/** The response of GET /api/orders/recover. Parsed amounts are in cents. */
import * as z from "zod/mini";
import { Discount } from "./checkout";
import { cents } from "./money";
import { PaymentType } from "./paymentType";

const Change = z.union([
  z.object({ kind: z.literal("price"), name: z.string(), before: cents, after: cents }),
  z.object({ kind: z.literal("discount"), name: z.string(), before: cents, after: cents }),
  z.object({ kind: z.literal("expired"), name: z.string() }),
  z.object({
    kind: z.enum(["promo", "quote", "instalments"]),
    name: z.string(),
    reason: z.string(),
  }),
]);
/** A difference between the saved order and today's prices and rules. */
export type Change = z.output<typeof Change>;

const RecoveredItem = z.pipe(
  z.object({
    id: z.number(),
    lesson_id: z.nullable(z.number()),
    subject_id: z.number(),
    price: cents,
    list_price: z.optional(cents),
    lesson: z.nullable(z.object({ title: z.string() })),
    subject: z.object({
      name: z.string(),
      degree: z.object({
        name: z.string(),
        university: z.object({ name: z.string() }),
      }),
    }),
  }),
  z.transform(({ id, lesson_id, subject_id, price, list_price, lesson, subject }) => ({
    id,
    subjectId: subject_id,
    lessonId: lesson_id,
    priceCents: price,
    listPriceCents: list_price ?? price,
    lessonTitle: lesson?.title ?? null,
    subjectName: subject.name,
    degreeName: subject.degree.name,
    universityName: subject.degree.university.name,
  })),
);

/** An unpaid order at today's prices. */
export const RecoveredOrder = z.pipe(
  z.object({
    id: z.number(),
    total_amount: cents,
    payment_type: PaymentType,
    created_at: z.string(),
    promo_code: z.nullable(z.string()),
    quote: z.nullable(z.string()),
    student: z.object({ email: z.string(), phone: z.string() }),
    gift: z.optional(z.object({ email: z.string(), deliver_on: z.string() })),
    personal: z.optional(z.boolean()),
    items: z.array(RecoveredItem),
    discounts: z.array(Discount),
    saved_total: cents,
    totals: z.object({ full_payment: cents, installment: cents }),
    installment_minimum: cents,
    changes: z.array(Change),
    bank: z.nullable(z.enum(["confirming", "declined"])),
    renewal: z.boolean(),
  }),
  z.transform((order) => ({
    id: order.id,
    totalCents: order.total_amount,
    savedTotalCents: order.saved_total,
    /** The total with each payment type. */
    totals: order.totals,
    instalmentMinimumCents: order.installment_minimum,
    paymentType: order.payment_type,
    createdAt: new Date(order.created_at),
    promoCode: order.promo_code,
    quote: order.quote,
    student: order.student,
    gift: order.gift && { email: order.gift.email, deliverOn: order.gift.deliver_on },
    /** Whether the order is its student's alone: a renewal, an exchange or an approved discount. */
    isPersonal: order.personal ?? false,
    items: order.items,
    discounts: order.discounts,
    changes: order.changes,
    /** What the bank has said of the last payment, if it made the buyer wait. */
    bank: order.bank,
    /** It renews access: it is paid as it is and at once, without a code or a transfer. */
    isRenewal: order.renewal,
  })),
);
export type RecoveredOrder = z.output<typeof RecoveredOrder>;

import * as z from "zod/mini";
import { toCents } from "../lib/money";

const cents = z.pipe(z.number().check(z.nonnegative()), z.transform(toCents));
const count = z.number().check(z.nonnegative());

export const AccountStatus = z.enum(["pending", "created", "failed"]);
export type AccountStatus = z.output<typeof AccountStatus>;

export const Discount = z.pipe(
  z.object({ name: z.string(), amount: cents }),
  z.transform(({ name, amount }) => ({ name, amountCents: amount })),
);

/** One thing in the order as the server prices it; without `lessonId` it is a whole subject. */
export const PricedLine = z.pipe(
  z.object({
    subject_id: z.number(),
    lesson_id: z.nullable(z.number()),
    name: z.string(),
    list_price: cents,
    price: cents,
  }),
  z.transform((line) => ({
    subjectId: line.subject_id,
    lessonId: line.lesson_id,
    name: line.name,
    listPriceCents: line.list_price,
    priceCents: line.price,
  })),
);
export type PricedLine = z.output<typeof PricedLine>;

/**
 * What the server would charge: the lines less the discounts is the total. `quoteNotice` says why
 * that is not what a quote promised.
 */
export const PricedOrder = z.pipe(
  z.object({
    lines: z.array(PricedLine),
    discounts: z.array(Discount),
    total_amount: cents,
    quote_notice: z.optional(z.string()),
  }),
  z.transform(({ lines, discounts, total_amount, quote_notice }) => ({
    lines,
    discounts,
    totalCents: total_amount,
    quoteNotice: quote_notice ?? null,
  })),
);
export type PricedOrder = z.output<typeof PricedOrder>;

const CheckoutBase = z.object({
  order_id: z.number(),
  token: z.string(),
  total_amount: cents,
  lines: z.array(PricedLine),
  discounts: z.array(Discount),
  quote_notice: z.optional(z.string()),
  client_secret: z.optional(z.nullable(z.string())),
  payment_intent_id: z.optional(z.nullable(z.string())),
  amount: z.optional(z.nullable(cents)),
  url: z.optional(z.nullable(z.string())),
  session_id: z.optional(z.nullable(z.string())),
  completed: z.optional(z.boolean()),
  redirect: z.optional(z.nullable(z.string())),
  saved: z.optional(z.boolean()),
});

/**
 * What follows from POST /api/process-checkout. `none` is an answer with neither a client secret nor
 * an address (shop spec, section 8).
 */
export type CheckoutNext =
  | { kind: "card"; clientSecret: string; paymentIntentId: string; dueCents: number }
  | { kind: "hosted"; url: string; sessionId: string }
  | { kind: "completed"; redirect: string }
  | { kind: "saved" }
  | { kind: "none" };

function nextOf(answer: z.output<typeof CheckoutBase>): CheckoutNext {
  if (answer.client_secret && answer.payment_intent_id) {
    return {
      kind: "card",
      clientSecret: answer.client_secret,
      paymentIntentId: answer.payment_intent_id,
      dueCents: answer.amount ?? answer.total_amount,
    };
  }
  if (answer.url) return { kind: "hosted", url: answer.url, sessionId: answer.session_id ?? "" };
  if (answer.completed && answer.redirect) return { kind: "completed", redirect: answer.redirect };
  return { kind: answer.saved ? "saved" : "none" };
}

export const CheckoutAnswer = z.pipe(
  CheckoutBase,
  z.transform((answer) => ({
    orderId: answer.order_id,
    token: answer.token,
    priced: {
      lines: answer.lines,
      discounts: answer.discounts,
      totalCents: answer.total_amount,
      quoteNotice: answer.quote_notice ?? null,
    } satisfies PricedOrder,
    next: nextOf(answer),
  })),
);
export type CheckoutAnswer = z.output<typeof CheckoutAnswer>;

/** The things that 409 `unavailable` and `already_bought` name. */
export const Unavailable = z.object({
  items: z.array(
    z.pipe(
      z.object({ subject_id: z.number(), lesson_id: z.nullable(z.number()), name: z.string() }),
      z.transform(({ subject_id, lesson_id, name }) => ({
        subjectId: subject_id,
        lessonId: lesson_id,
        name,
      })),
    ),
  ),
});
export type UnavailableItem = z.output<typeof Unavailable>["items"][number];

/** The order that a 502 leaves behind, to be taken up by the next try. */
export const PlacedOrder = z.pipe(
  z.object({ order_id: z.number(), token: z.string() }),
  z.transform(({ order_id, token }) => ({ orderId: order_id, token })),
);

/** What 409 `already_paid` and `payment_in_progress` may say of the payment that there is. */
export const KnownPayment = z.object({ payment_intent_id: z.string() });

export const PromoAnswer = z.pipe(
  z.object({
    is_valid: z.boolean(),
    discount_amount: cents,
    discount_type: z.nullable(z.string()),
    valor_descuento: z.nullable(z.number()),
    code: z.string(),
    is_referral_code: z.boolean(),
    error_message: z.nullable(z.string()),
  }),
  z.transform((answer) => ({
    isValid: answer.is_valid,
    code: answer.code,
    // Everything that is not a percentage is an amount in euros (shop spec, section 3).
    promo: {
      kind: answer.discount_type === "PORCENTAJE" ? ("PORCENTAJE" as const) : ("FIJO" as const),
      value: toCents(answer.valor_descuento ?? 0),
      isReferral: answer.is_referral_code,
    },
    errorMessage: answer.error_message,
  })),
);
export type PromoAnswer = z.output<typeof PromoAnswer>;

export const CompletionAnswer = z.pipe(
  z.object({ status: z.string(), account_status: z.nullable(AccountStatus) }),
  z.transform(({ status, account_status }) => ({ status, accountStatus: account_status })),
);
export type CompletionAnswer = z.output<typeof CompletionAnswer>;

/** After a resend, and in a 429 that refuses one: how long to wait, how many are left. */
export const ResendAnswer = z.pipe(
  z.object({ seconds_left: count, attempts_left: count }),
  z.transform(({ seconds_left, attempts_left }) => ({
    secondsLeft: seconds_left,
    attemptsLeft: attempts_left,
  })),
);
export type ResendAnswer = z.output<typeof ResendAnswer>;

export const OrderByPayment = z.pipe(
  z.object({
    id: z.number(),
    reference: z.string(),
    status: z.string(),
    created_at: z.string(),
    total_amount: cents,
    amount_paid: cents,
    items_count: count,
    account_status: z.nullable(AccountStatus),
    student: z.object({ first_name: z.string(), email: z.string() }),
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
    student: { firstName: order.student.first_name, email: order.student.email },
  })),
);
export type OrderByPayment = z.output<typeof OrderByPayment>;

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
/** What is different since the order was saved; money in cents. */
export type Change = z.output<typeof Change>;

const RecoveredItem = z.pipe(
  z.object({
    id: z.number(),
    lesson_id: z.nullable(z.number()),
    subject_id: z.number(),
    price: cents,
    lesson: z.nullable(z.object({ title: z.string() })),
    subject: z.object({
      name: z.string(),
      degree: z.object({ name: z.string(), university: z.object({ name: z.string() }) }),
    }),
  }),
  z.transform(({ id, lesson_id, subject_id, price, lesson, subject }) => ({
    id,
    subjectId: subject_id,
    lessonId: lesson_id,
    priceCents: price,
    lessonTitle: lesson?.title ?? null,
    subjectName: subject.name,
    degreeName: subject.degree.name,
    universityName: subject.degree.university.name,
  })),
);
export type RecoveredItem = z.output<typeof RecoveredItem>;

/** GET /api/orders/recover: an unpaid order, priced as of now. */
export const RecoveredOrder = z.pipe(
  z.object({
    id: z.number(),
    total_amount: cents,
    payment_type: z.enum(["full_payment", "installment"]),
    created_at: z.string(),
    promo_code: z.nullable(z.string()),
    quote: z.nullable(z.string()),
    student: z.object({ email: z.string(), phone: z.string() }),
    items: z.array(RecoveredItem),
    discounts: z.array(Discount),
    saved_total: cents,
    changes: z.array(Change),
  }),
  z.transform((order) => ({
    id: order.id,
    totalCents: order.total_amount,
    savedTotalCents: order.saved_total,
    paymentType: order.payment_type,
    createdAt: new Date(order.created_at),
    promoCode: order.promo_code,
    quote: order.quote,
    student: order.student,
    items: order.items,
    discounts: order.discounts,
    changes: order.changes,
  })),
);
export type RecoveredOrder = z.output<typeof RecoveredOrder>;

export const Me = z.object({
  student: z.nullable(
    z.pipe(
      z.object({
        email: z.string(),
        phone: z.string(),
        first_name: z.string(),
        last_name: z.string(),
      }),
      z.transform(({ email, phone, first_name, last_name }) => ({
        email,
        phone,
        firstName: first_name,
        lastName: last_name,
      })),
    ),
  ),
});
export type SignedInStudent = NonNullable<z.output<typeof Me>["student"]>;

export const StripeKey = z.object({ publishableKey: z.string(), scriptUrl: z.string() });
export type StripeKey = z.output<typeof StripeKey>;

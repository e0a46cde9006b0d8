/** Responses of the checkout's API calls. Parsed amounts are in cents. */
import * as z from "zod/mini";
import { toCents } from "../lib/pricing/money";
import { cents } from "./money";

const count = z.number().check(z.nonnegative());

export const Discount = z.pipe(
  z.object({ name: z.string(), amount: cents }),
  z.transform(({ name, amount }) => ({ name, amountCents: amount })),
);

/** A line of the order with the server's prices. Without `lessonId` it is a complete subject. */
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

const priced = {
  lines: z.array(PricedLine),
  discounts: z.array(Discount),
  total_amount: cents,
  quote_notice: z.optional(z.string()),
};

/**
 * An order as the server prices it. The total is the list prices of the lines minus the discounts.
 * `quoteNotice` says why the total differs from a quote's binding price.
 */
export type PricedOrder = {
  lines: PricedLine[];
  discounts: z.output<typeof Discount>[];
  totalCents: number;
  quoteNotice: string | null;
};

const pricedOrder = (order: z.output<z.ZodMiniObject<typeof priced>>): PricedOrder => ({
  lines: order.lines,
  discounts: order.discounts,
  totalCents: order.total_amount,
  quoteNotice: order.quote_notice ?? null,
});

export const PricedOrder = z.pipe(z.object(priced), z.transform(pricedOrder));

/** How to make the transfer that an order waits for. */
export const Transfer = z.pipe(
  z.object({
    iban: z.string(),
    beneficiary: z.string(),
    reference: z.string(),
    amount: cents,
    valid_until: z.string(),
  }),
  z.transform(({ amount, valid_until, ...transfer }) => ({
    ...transfer,
    amountCents: amount,
    validUntil: valid_until,
  })),
);
export type Transfer = z.output<typeof Transfer>;

const CheckoutBase = z.object({
  ...priced,
  order_id: z.number(),
  token: z.string(),
  client_secret: z.optional(z.nullable(z.string())),
  payment_intent_id: z.optional(z.nullable(z.string())),
  amount: z.optional(z.nullable(cents)),
  url: z.optional(z.nullable(z.string())),
  session_id: z.optional(z.nullable(z.string())),
  completed: z.optional(z.boolean()),
  redirect: z.optional(z.nullable(z.string())),
  saved: z.optional(z.boolean()),
  transfer: z.optional(Transfer),
});

/**
 * The next step after POST /api/process-checkout. `none`: the response has neither a client secret
 * nor an address, which is an error.
 */
export type CheckoutNext =
  | { kind: "card"; clientSecret: string; paymentIntentId: string; dueCents: number }
  | { kind: "hosted"; url: string; sessionId: string }
  | { kind: "completed"; redirect: string }
  | { kind: "saved" }
  | { kind: "transfer"; transfer: Transfer }
  | { kind: "none" };

function nextOf(response: z.output<typeof CheckoutBase>): CheckoutNext {
  if (response.client_secret && response.payment_intent_id) {
    return {
      kind: "card",
      clientSecret: response.client_secret,
      paymentIntentId: response.payment_intent_id,
      dueCents: response.amount ?? response.total_amount,
    };
  }
  if (response.url)
    return { kind: "hosted", url: response.url, sessionId: response.session_id ?? "" };
  if (response.completed && response.redirect)
    return { kind: "completed", redirect: response.redirect };
  if (response.transfer) return { kind: "transfer", transfer: response.transfer };
  return { kind: response.saved ? "saved" : "none" };
}

export const CheckoutResponse = z.pipe(
  CheckoutBase,
  z.transform((response) => ({
    orderId: response.order_id,
    token: response.token,
    priced: pricedOrder(response),
    next: nextOf(response),
  })),
);
export type CheckoutResponse = z.output<typeof CheckoutResponse>;

/** The items in the error responses `unavailable` and `already_bought`. */
export const UnavailableItems = z.object({
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
export type UnavailableItem = z.output<typeof UnavailableItems>["items"][number];

/** The order's id and its secret token. Every later call for the order sends both. */
export type OrderCredentials = { orderId: number; token: string };

/** The order that the server created before a 502 or 503 error. The next attempt uses it. */
export const PlacedOrder = z.pipe(
  z.object({ order_id: z.number(), token: z.string() }),
  z.transform(({ order_id, token }) => ({ orderId: order_id, token })),
);

/** The order's payment in the error responses `already_paid` and `payment_in_progress`. */
export const ExistingPayment = z.object({ payment_intent_id: z.string() });

export const PromoResponse = z.pipe(
  z.object({
    is_valid: z.boolean(),
    discount_type: z.nullable(z.string()),
    valor_descuento: z.nullable(z.number()),
    code: z.string(),
    is_referral_code: z.boolean(),
    maximum_discount: z.optional(z.number()),
    error_message: z.nullable(z.string()),
  }),
  z.transform((response) => ({
    isValid: response.is_valid,
    code: response.code,
    // Every discount type except PORCENTAJE is an amount in euros.
    promo: {
      kind: response.discount_type === "PORCENTAJE" ? ("PORCENTAJE" as const) : ("FIJO" as const),
      value: toCents(response.valor_descuento ?? 0),
      isFriendCode: response.is_referral_code,
      mostCents:
        response.maximum_discount === undefined ? null : toCents(response.maximum_discount),
    },
    errorMessage: response.error_message,
  })),
);
export type PromoResponse = z.output<typeof PromoResponse>;

export const CompletionResponse = z.object({ status: z.string() });
export type CompletionResponse = z.output<typeof CompletionResponse>;

/** Seconds to wait and attempts left, after sending the e-mail again and in a 429 response. */
export const ResendResponse = z.pipe(
  z.object({ seconds_left: count, attempts_left: count }),
  z.transform(({ seconds_left, attempts_left }) => ({
    secondsLeft: seconds_left,
    attemptsLeft: attempts_left,
  })),
);
export type ResendResponse = z.output<typeof ResendResponse>;

export const Me = z.object({
  student: z.nullable(z.object({ email: z.string(), phone: z.string() })),
});

/** What the signed-in student has paid for lessons of each subject. */
export const LessonCredit = z.object({
  credits: z.array(
    z.pipe(
      z.object({ subject_id: z.number(), amount: z.number() }),
      z.transform(({ subject_id, amount }) => ({ subjectId: subject_id, cents: toCents(amount) })),
    ),
  ),
});

export const StripeKey = z.object({ publishableKey: z.string(), scriptUrl: z.string() });
export type StripeKey = z.output<typeof StripeKey>;

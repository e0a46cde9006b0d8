import * as z from "zod/mini";
import { cents } from "./money";

const Instalment = z.pipe(
  z.object({
    number: z.number(),
    amount: cents,
    due_on: z.string(),
    charge_on: z.nullable(z.string()),
    paid_at: z.nullable(z.string()),
    state: z.enum(["paid", "due", "refused", "overdue", "canceled"]),
  }),
  z.transform(({ number, amount, due_on, charge_on, paid_at, state }) => ({
    number,
    amountCents: amount,
    dueOn: new Date(due_on),
    chargeOn: charge_on ? new Date(charge_on) : null,
    paidAt: paid_at ? new Date(paid_at) : null,
    state,
  })),
);
export type Instalment = z.output<typeof Instalment>;

/**
 * The response of GET /api/instalments: the instalment plan of an order. Parsed amounts are in
 * cents.
 */
export const InstalmentPlan = z.pipe(
  z.object({
    order_id: z.number(),
    status: z.string(),
    items: z.array(z.string()),
    instalments: z.array(Instalment),
    total_amount: cents,
    next_amount: cents,
    rest_amount: cents,
    card: z.nullable(z.string()),
    card_works: z.boolean(),
    card_pays: z.boolean(),
    paused: z.boolean(),
    in_progress: z.boolean(),
  }),
  z.transform((plan) => ({
    orderId: plan.order_id,
    status: plan.status,
    items: plan.items,
    instalments: plan.instalments,
    totalCents: plan.total_amount,
    nextCents: plan.next_amount,
    restCents: plan.rest_amount,
    card: plan.card,
    cardWorks: plan.card_works,
    cardPays: plan.card_pays,
    paused: plan.paused,
    inProgress: plan.in_progress,
  })),
);
export type InstalmentPlan = z.output<typeof InstalmentPlan>;

/**
 * What the browser needs to pay one or all instalments, with the saved card or with the card form.
 */
export const InstalmentPaymentSecret = z.pipe(
  z.object({
    client_secret: z.string(),
    payment_intent_id: z.string(),
    amount: cents,
    saved_card: z.nullable(z.string()),
  }),
  z.transform(({ client_secret, payment_intent_id, amount, saved_card }) => ({
    clientSecret: client_secret,
    reference: payment_intent_id,
    cents: amount,
    savedCard: saved_card,
  })),
);

/** What the card form needs to save another card. `cents` is 0: nothing is charged. */
export const CardSetupSecret = z.pipe(
  z.object({ client_secret: z.string(), setup_intent_id: z.string() }),
  z.transform(({ client_secret, setup_intent_id }) => ({
    clientSecret: client_secret,
    reference: setup_intent_id,
    cents: 0,
    savedCard: null,
  })),
);

export const CardSaved = z.object({ card: z.nullable(z.string()) });

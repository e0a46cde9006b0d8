import * as z from "zod/mini";
import { toCents } from "../lib/pricing/money";
import { cents } from "./money";

const count = z.number().check(z.nonnegative());
const percent = z.number().check(z.gt(0), z.lt(100));

// Avoids z.tuple and z.iso.date: they would add 1 KB to every page that computes prices.
const Tier = z.pipe(
  z.array(z.number().check(z.nonnegative())),
  z.transform(([subjects = 0, euros = 0]): [number, number] => [subjects, toCents(euros)]),
);

const Campaign = z.pipe(
  z.strictObject({
    name: z.string(),
    percent,
    calculator: z.boolean(),
    cart: z.boolean(),
    prices_include_it: z.boolean(),
    ends_on: z.string(),
  }),
  z.transform(({ prices_include_it, name, percent, calculator, cart }) => ({
    name,
    percent,
    calculator,
    cart,
    pricesIncludeIt: prices_include_it,
  })),
);
export type Campaign = z.output<typeof Campaign>;

/**
 * The response of GET /api/pricing and the `pricing` prop of islands. Parsed amounts are in cents.
 */
export const Pricing = z.pipe(
  z.strictObject({
    currency: z.literal("EUR"),
    unit_base_price: cents,
    volume: z.array(Tier),
    full_payment_percent: percent,
    invited_amount: cents,
    invitee_amount: cents,
    invitee_max: count,
    installments: z.pipe(
      z.strictObject({ count: z.number().check(z.gt(0)), every_days: count, minimum_total: cents }),
      z.transform(({ count, every_days, minimum_total }) => ({
        count,
        everyDays: every_days,
        minimumTotalCents: minimum_total,
      })),
    ),
    campaign: z.nullable(Campaign),
  }),
  z.transform((data) => ({
    volume: data.volume,
    unitBasePriceCents: data.unit_base_price,
    fullPaymentPercent: data.full_payment_percent,
    invitedCents: data.invited_amount,
    inviteeCents: data.invitee_amount,
    inviteeMax: data.invitee_max,
    instalments: data.installments,
    campaign: data.campaign,
  })),
);
export type Pricing = z.output<typeof Pricing>;

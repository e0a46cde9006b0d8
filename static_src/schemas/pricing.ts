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

const campaign = {
  name: z.string(),
  percent,
  calculator: z.boolean(),
  cart: z.boolean(),
  prices_include_it: z.boolean(),
  ends_on: z.string(),
};
type CampaignData = z.output<z.ZodMiniObject<typeof campaign>>;

const toCampaign = ({ prices_include_it, name, percent, calculator, cart }: CampaignData) => ({
  name,
  percent,
  calculator,
  cart,
  pricesIncludeIt: prices_include_it,
});

const Campaign = z.pipe(z.strictObject(campaign), z.transform(toCampaign));
/** A campaign for the subjects of some degrees. */
const DegreeCampaign = z.pipe(
  z.strictObject({ ...campaign, degree_ids: z.array(z.number()) }),
  z.transform((data) => ({ ...toCampaign(data), degreeIds: data.degree_ids })),
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
    degree_campaigns: z.optional(z.array(DegreeCampaign)),
  }),
  z.transform((data) => ({
    volume: data.volume,
    unitBasePriceCents: data.unit_base_price,
    fullPaymentPercent: data.full_payment_percent,
    friendCodeCents: data.invited_amount,
    perFriendCents: data.invitee_amount,
    friendsMax: data.invitee_max,
    instalments: data.installments,
    campaign: data.campaign,
    degreeCampaigns: data.degree_campaigns ?? [],
  })),
);
export type Pricing = z.output<typeof Pricing>;

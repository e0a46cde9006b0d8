/**
 * The price of the budget calculator. It is separate from the cart's price because home and
 * /precios load only this one. `quote.test.ts` runs the golden cases on both.
 */
import type { Campaign, Pricing } from "../../schemas/pricing";
import {
  campaignFor,
  campaignName,
  type Discount,
  fullPaymentName,
  sum,
  VOLUME_NAME,
  volumeDiscountCents,
} from "./discounts";
import { halfUp } from "./money";

export type CalculatorQuote = { baseCents: number; discounts: Discount[]; finalCents: number };

/** Whether the calculator takes a percentage off prices that the cart leaves as they are. */
export const isOnlyInCalculator = (campaign: Campaign | null): campaign is Campaign =>
  !!campaign?.calculator && !(campaign.cart && !campaign.pricesIncludeIt);

const FRIEND_CODE_NAME = "Código de amigo";
const FRIENDS_NAME = "Amigos invitados";

/**
 * The calculator's price for a budget. Percentages are taken of the base and rounded half up to
 * whole euros. Without chosen subjects the base is the unit price times `numberOfSubjects`.
 * Choosing some of the subjects but not all is an error. `degreeId` is that of the chosen subjects.
 */
export function quoteCalculator(
  pricing: Pricing,
  subjectPricesCents: readonly number[],
  options: {
    numberOfSubjects: number;
    fullPayment: boolean;
    hasFriendCode: boolean;
    friends: number;
    degreeId: number | null;
  },
): CalculatorQuote {
  const { numberOfSubjects, fullPayment, hasFriendCode, friends, degreeId } = options;
  const chosen = subjectPricesCents.length;
  if (chosen > 0 && chosen !== numberOfSubjects) {
    throw new RangeError(`${chosen} prices for ${numberOfSubjects} subjects`);
  }
  const baseCents =
    chosen > 0 ? sum(subjectPricesCents) : numberOfSubjects * pricing.unitBasePriceCents;
  const wholeEurosOf = (percent: number) => halfUp(baseCents * percent, 100 * 100) * 100;
  const campaign = campaignFor(pricing, degreeId, "calculator");

  const discounts: Discount[] = [
    { name: VOLUME_NAME, amountCents: volumeDiscountCents(pricing, numberOfSubjects) },
  ];
  if (campaign) {
    discounts.push({ name: campaignName(campaign), amountCents: wholeEurosOf(campaign.percent) });
  }
  if (fullPayment) {
    const percent = pricing.fullPaymentPercent;
    discounts.push({ name: fullPaymentName(percent), amountCents: wholeEurosOf(percent) });
  }
  if (hasFriendCode) {
    discounts.push({ name: FRIEND_CODE_NAME, amountCents: pricing.friendCodeCents });
  }
  discounts.push({
    name: FRIENDS_NAME,
    amountCents: Math.min(friends, pricing.friendsMax) * pricing.perFriendCents,
  });

  const listed = discounts.filter((discount) => discount.amountCents > 0);
  const offCents = sum(listed.map((discount) => discount.amountCents));
  return { baseCents, discounts: listed, finalCents: Math.max(0, baseCents - offCents) };
}

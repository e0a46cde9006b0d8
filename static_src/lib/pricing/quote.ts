/**
 * The price rules of `apps/pricing/rules.py`, in integer cents, so that the page can show prices
 * without a request. The server sends the percentages and amounts. Both implementations are tested
 * with `apps/pricing/golden_cases.json`. The server decides what is charged.
 */
import type { PaymentType } from "../../schemas/paymentType";
import type { Campaign, Pricing } from "../../schemas/pricing";
import {
  campaignFor,
  campaignName,
  type Discount,
  fullPaymentName,
  includedPercent,
  listPriceCents,
  sum,
  VOLUME_NAME,
  volumeDiscountCents,
} from "./discounts";
import { halfUp } from "./money";

/**
 * A complete subject with its final price, or a single lesson with its price. `subjectId` is that of
 * the subject, or of the lesson's. `paidCents` were paid for lessons of the complete subject that
 * the buyer has.
 */
export type PricedItem = {
  priceCents: number;
  complete: boolean;
  subjectId: number | null;
  degreeId: number | null;
  paidCents?: number;
};

/**
 * `value`: hundredths of a percent for PORCENTAJE, cents for FIJO. `mostCents` is what a percentage
 * takes off at most.
 */
export type Promo = {
  kind: "PORCENTAJE" | "FIJO";
  value: number;
  isFriendCode: boolean;
  mostCents?: number | null;
};

export type CartLinePrice = { listPriceCents: number; priceCents: number };

/** The price of a cart. `totalCents` is `listTotalCents` minus all discounts. */
type CartQuote = {
  lines: CartLinePrice[];
  discounts: Discount[];
  listTotalCents: number;
  totalCents: number;
};

const PROMO_NAME = "Código promocional";
export const BINDING_QUOTE_NAME = "Precio de tu presupuesto";
const CREDIT_NAME = "Ya pagado por tus lecciones";

/**
 * The price of a cart. Discounts apply in this order: campaign, volume (complete subjects only),
 * full payment, promo code (on the remaining amount). No discount takes more than the remaining
 * amount. `bindingCents` is the binding price of a quote for this cart (`lib/pricing/bindingQuote.ts`):
 * then one discount leads to that price and replaces all others, the promo code's too. Last comes
 * off what was paid for lessons, at most each subject's part of the total.
 */
export function quoteCart(
  pricing: Pricing,
  items: readonly PricedItem[],
  {
    paymentType,
    promo,
    bindingCents = null,
  }: { paymentType: PaymentType; promo: Promo | null; bindingCents?: number | null },
): CartQuote {
  const campaigns = items.map(({ degreeId }) => campaignFor(pricing, degreeId, "cart"));
  const lines = items.map(({ priceCents }, at) => ({
    listPriceCents: listPriceCents(priceCents, campaigns[at] ?? null),
    priceCents,
  }));
  const listTotalCents = sum(lines.map((line) => line.listPriceCents));
  const subtotalCents = sum(lines.map((line) => line.priceCents));
  const completeSubjects = items.filter((item) => item.complete).length;

  const discounts: Discount[] = [];
  let remainingCents = listTotalCents;
  const take = (name: string, cents: number): void => {
    const amountCents = Math.min(cents, remainingCents);
    if (amountCents <= 0) return;
    discounts.push({ name, amountCents });
    remainingCents -= amountCents;
  };

  if (bindingCents !== null) {
    take(BINDING_QUOTE_NAME, listTotalCents - bindingCents);
  } else {
    for (const campaign of largestFirst(pricing)) {
      const reduced = lines.filter((_, at) => campaigns[at] === campaign);
      const reducedCents = sum(reduced.map((line) => line.priceCents));
      take(
        campaignName(campaign),
        campaign.pricesIncludeIt
          ? sum(reduced.map((line) => line.listPriceCents)) - reducedCents
          : halfUp(reducedCents * campaign.percent, 100),
      );
    }
    take(VOLUME_NAME, volumeDiscountCents(pricing, completeSubjects));
    if (paymentType === "full_payment") {
      const percent = pricing.fullPaymentPercent;
      take(fullPaymentName(percent), halfUp(subtotalCents * percent, 100));
    }
    if (promo && (completeSubjects > 0 || !promo.isFriendCode)) {
      take(PROMO_NAME, promoDiscountCents(promo, remainingCents));
    }
  }
  const beforeCents = remainingCents;
  const credits = lines.map(({ listPriceCents }, at) =>
    Math.min(
      items[at]?.paidCents ?? 0,
      Math.floor((beforeCents * listPriceCents) / (listTotalCents || 1)),
    ),
  );
  take(CREDIT_NAME, sum(credits));
  return { lines, discounts, listTotalCents, totalCents: remainingCents };
}

/** The campaigns, the largest first; of equal ones that for all is the last, as on the server. */
function largestFirst({ campaign, degreeCampaigns }: Pricing): Campaign[] {
  const all: Campaign[] = campaign ? [...degreeCampaigns, campaign] : [...degreeCampaigns];
  return all.sort((one, other) => other.percent - one.percent);
}

/** The promo code's discount on the amount that the other discounts leave; never more than that. */
export function promoDiscountCents(
  { kind, value, mostCents }: Promo,
  remainingCents: number,
): number {
  if (kind === "FIJO") return Math.min(value, remainingCents);
  return Math.min(halfUp(remainingCents * value, 10_000), mostCents ?? Number.POSITIVE_INFINITY);
}

/** The percentage that the cards and the cart take off the prices. */
const deductedPercent = (campaign: Campaign | null) =>
  campaign?.cart && !campaign.pricesIncludeIt ? campaign.percent : 0;

/**
 * The prices on a subject's card: the final price less what the campaign takes off, the list price
 * final price / (1 - discount), and the discount in whole euros. While a campaign runs that the
 * prices include, its percentage is the discount, as in the cart. `lowestCents`, the lowest price of
 * the last 30 days, replaces the computed list price if the server sends it.
 */
export function subjectCard(
  finalPriceCents: number,
  totalDiscountsPercent: number,
  { campaign, lowestCents }: { campaign: Campaign | null; lowestCents?: number | undefined },
): { listPriceCents: number; priceCents: number; discountEuros: number } {
  const off = deductedPercent(campaign);
  const priceCents = finalPriceCents - halfUp(finalPriceCents * off, 100);
  if (lowestCents !== undefined) {
    // A campaign reduces today's price, so that one counts among the earlier prices.
    const earlierCents = off > 0 ? Math.min(lowestCents, finalPriceCents) : lowestCents;
    const listPriceCents = Math.max(earlierCents, priceCents);
    return { listPriceCents, priceCents, discountEuros: halfUp(listPriceCents - priceCents, 100) };
  }
  const remainingPercent = 100 - (includedPercent(campaign) || totalDiscountsPercent);
  return {
    listPriceCents: halfUp(finalPriceCents * 100, remainingPercent),
    priceCents,
    discountEuros: halfUp(
      finalPriceCents * (10_000 - remainingPercent * (100 - off)),
      remainingPercent * 10_000,
    ),
  };
}

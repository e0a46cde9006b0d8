import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import goldenFile from "../../../apps/pricing/golden_cases.json";
import { PaymentType } from "../../schemas/paymentType";
import { Pricing } from "../../schemas/pricing";
import { quoteMismatch } from "./bindingQuote";
import { isOnlyInCalculator, quoteCalculator } from "./calculator";
import {
  dueNowCents,
  instalmentsRefusal,
  instalmentsRefusalSentence,
  splitInstalments,
} from "./instalments";
import { promoDiscountCents, quoteCart, subjectCard } from "./quote";

const cents = z.number();
const discounts = z.array(z.tuple([z.string(), cents]));
const terms = z.optional(z.string());
/** The degree of each subject, then of each lesson. */
const degrees = z.optional(z.array(z.number()));
const degreeCampaigns = z.optional(z.array(z.string()));

const Golden = z.object({
  terms: z.record(z.string(), z.record(z.string(), z.unknown())),
  campaigns: z.record(z.string(), z.unknown()),
  degree_campaigns: z.record(z.string(), z.unknown()),
  only_in_calculator: z.array(z.string()),
  cart: z.array(
    z.object({
      name: z.string(),
      terms,
      subjects: z.array(cents),
      lessons: z.array(cents),
      degrees,
      payment_type: PaymentType,
      campaign: z.nullable(z.string()),
      degree_campaigns: degreeCampaigns,
      promo: z.nullable(
        z.object({
          kind: z.enum(["PORCENTAJE", "FIJO"]),
          value: z.number(),
          is_friend_code: z.boolean(),
          most_cents: z.optional(cents),
        }),
      ),
      binding: z.optional(cents),
      paid: z.optional(z.array(cents)),
      list_prices: z.array(cents),
      discounts,
      total: cents,
      due_now: cents,
    }),
  ),
  offers: z.array(
    z.object({
      name: z.string(),
      terms,
      quoted: z.object({
        subjects: z.array(z.number()),
        payment_type: PaymentType,
        price: cents,
      }),
      cart: z.array(z.tuple([z.number(), cents, z.boolean()])),
      payment_type: PaymentType,
      campaign: z.optional(z.string()),
      mismatch: z.nullable(z.string()),
    }),
  ),
  calculator: z.array(
    z.object({
      name: z.string(),
      terms,
      subject_prices: z.array(cents),
      number_of_subjects: z.number(),
      full_payment: z.boolean(),
      has_friend_code: z.boolean(),
      friends: z.number(),
      degree: z.optional(z.number()),
      campaign: z.nullable(z.string()),
      degree_campaigns: degreeCampaigns,
      base: cents,
      discounts,
      final: cents,
    }),
  ),
  instalments: z.array(z.object({ terms, total: cents, payments: z.array(cents) })),
  instalment_refusals: z.array(
    z.object({
      name: z.string(),
      terms,
      subjects: z.array(cents),
      lessons: z.array(cents),
      total: cents,
      refusal: z.nullable(z.string()),
    }),
  ),
  subject_cards: z.array(
    z.object({
      final_price: cents,
      total_discounts: z.number(),
      campaign: z.nullable(z.string()),
      lowest: z.nullable(z.number()),
      price: cents,
      list_price: cents,
      discount_euros: z.number(),
    }),
  ),
});

const golden = Golden.parse(goldenFile);

const pricingWith = (campaign: string | null, terms?: string, ofDegrees: string[] = []) =>
  Pricing.parse({
    ...(terms === undefined ? goldenFile.pricing : golden.terms[terms]),
    campaign: campaign === null ? null : golden.campaigns[campaign],
    degree_campaigns: ofDegrees.map((name) => golden.degree_campaigns[name]),
  });
const pricing = pricingWith(null);

type Basket = {
  subjects: number[];
  lessons: number[];
  degrees?: number[] | undefined;
  paid?: number[] | undefined;
};
const itemsOf = ({ subjects, lessons, degrees, paid }: Basket) =>
  [...subjects, ...lessons].map((priceCents, at) => ({
    priceCents,
    complete: at < subjects.length,
    subjectId: null,
    degreeId: degrees?.[at] ?? null,
    paidCents: paid?.[at] ?? 0,
  }));
const discountsOf = (listed: [string, number][]) =>
  listed.map(([name, amountCents]) => ({ name, amountCents }));

describe("the golden cases shared with the server", () => {
  it("are at least 60", () => {
    expect(golden.cart.length + golden.calculator.length).toBeGreaterThanOrEqual(60);
  });

  it.each(golden.cart)("cart: $name", (wanted) => {
    const pricing = pricingWith(wanted.campaign, wanted.terms, wanted.degree_campaigns);
    const paymentType: PaymentType = wanted.payment_type;
    const promo = wanted.promo && {
      kind: wanted.promo.kind,
      value: wanted.promo.value,
      isFriendCode: wanted.promo.is_friend_code,
      mostCents: wanted.promo.most_cents ?? null,
    };
    const bindingCents = wanted.binding ?? null;
    const quote = quoteCart(pricing, itemsOf(wanted), { paymentType, promo, bindingCents });
    const prices = [...wanted.subjects, ...wanted.lessons];
    const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0);

    expect(quote).toStrictEqual({
      lines: prices.map((priceCents, index) => ({
        listPriceCents: wanted.list_prices[index],
        priceCents,
      })),
      discounts: discountsOf(wanted.discounts),
      listTotalCents: sum(wanted.list_prices),
      totalCents: wanted.total,
    });
    expect(dueNowCents(pricing.instalments, quote.totalCents, paymentType)).toBe(wanted.due_now);
  });

  it.each(golden.offers)(
    "binding quote: $name",
    ({ quoted, cart, payment_type, campaign, terms, mismatch }) => {
      const binding = {
        subjectIds: quoted.subjects,
        paymentType: quoted.payment_type,
        priceCents: quoted.price,
      };
      const chosen = cart.map(([subjectId, priceCents, complete]) => ({
        subjectId,
        priceCents,
        complete,
        degreeId: null,
      }));
      const today = quoteCart(pricingWith(campaign ?? null, terms), chosen, {
        paymentType: payment_type,
        promo: null,
      });

      expect(quoteMismatch(binding, chosen, payment_type, today.totalCents)).toBe(mismatch);
    },
  );

  it.each(golden.calculator)("calculator: $name", (wanted) => {
    const quote = quoteCalculator(
      pricingWith(wanted.campaign, wanted.terms, wanted.degree_campaigns),
      wanted.subject_prices,
      {
        numberOfSubjects: wanted.number_of_subjects,
        fullPayment: wanted.full_payment,
        hasFriendCode: wanted.has_friend_code,
        friends: wanted.friends,
        degreeId: wanted.degree ?? null,
      },
    );
    expect(quote).toStrictEqual({
      baseCents: wanted.base,
      discounts: discountsOf(wanted.discounts),
      finalCents: wanted.final,
    });
  });

  it("knows which campaigns are only in the calculator", () => {
    const names = Object.keys(golden.campaigns);
    const only = names.filter((name) => isOnlyInCalculator(pricingWith(name).campaign));
    expect(only).toStrictEqual(golden.only_in_calculator);
  });

  it.each(golden.instalments)("instalments of $total cents", ({ terms, total, payments }) => {
    expect(splitInstalments(pricingWith(null, terms).instalments, total)).toStrictEqual(payments);
  });

  it.each(golden.instalment_refusals)("refusal of instalments: $name", (wanted) => {
    const { minimumTotalCents } = pricingWith(null, wanted.terms).instalments;
    const refusal = instalmentsRefusal(itemsOf(wanted), wanted.total, minimumTotalCents);
    expect(refusal).toBe(wanted.refusal);
  });

  it("refuses instalments in the server's words, with the least total that counts", () => {
    expect(instalmentsRefusalSentence("below_minimum", 30_00).replace("\u00a0", " ")).toBe(
      "Para pagar a plazos el total debe ser de al menos 30 €.",
    );
  });

  it.each(golden.subject_cards)("card: $final_price cents, $total_discounts %", (wanted) => {
    const { campaign } = pricingWith(wanted.campaign);
    const lowestCents = wanted.lowest ?? undefined;
    expect(
      subjectCard(wanted.final_price, wanted.total_discounts, { campaign, lowestCents }),
    ).toStrictEqual({
      listPriceCents: wanted.list_price,
      priceCents: wanted.price,
      discountEuros: wanted.discount_euros,
    });
  });
});

describe("the server's pricing data", () => {
  it("is rejected in another currency, with negative amounts or with a 100 % campaign", () => {
    expect(Pricing.safeParse({ ...goldenFile.pricing, currency: "USD" }).success).toBe(false);
    expect(Pricing.safeParse({ ...goldenFile.pricing, volume: [[2, -15]] }).success).toBe(false);
    const everything = { ...goldenFile.campaigns.august, percent: 100 };
    expect(Pricing.safeParse({ ...goldenFile.pricing, campaign: everything }).success).toBe(false);
  });
});

it("refuses to price a budget with only some of its subjects chosen", () => {
  const options = {
    numberOfSubjects: 2,
    fullPayment: false,
    hasFriendCode: false,
    friends: 0,
    degreeId: null,
  };
  expect(() => quoteCalculator(pricing, [24_000], options)).toThrow("1 prices for 2 subjects");
});

it("limits a promo code's discount to the remaining total", () => {
  const fixed = { kind: "FIJO", value: 5000, isFriendCode: false } as const;
  const percentage = { kind: "PORCENTAJE", value: 1050, isFriendCode: false } as const;
  expect(promoDiscountCents(fixed, 3000)).toBe(3000);
  expect(promoDiscountCents(percentage, 3000)).toBe(315);
});

import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import goldenFile from "../../apps/pricing/golden_cases.json";
import { PaymentType } from "../schemas/paymentType";
import { Pricing } from "../schemas/pricing";
import { quoteMismatch } from "./bindingQuote";
import { quoteCalculator } from "./calculator";
import {
  dueNowCents,
  instalmentsRefusal,
  promoDiscountCents,
  quoteCart,
  splitInstalments,
  subjectCard,
} from "./quote";

const cents = z.number();
const discounts = z.array(z.tuple([z.string(), cents]));

const Golden = z.object({
  campaigns: z.record(z.string(), z.unknown()),
  cart: z.array(
    z.object({
      name: z.string(),
      subjects: z.array(cents),
      lessons: z.array(cents),
      payment_type: PaymentType,
      campaign: z.nullable(z.string()),
      promo: z.nullable(
        z.object({
          kind: z.enum(["PORCENTAJE", "FIJO"]),
          value: z.number(),
          is_referral: z.boolean(),
        }),
      ),
      binding: z.optional(cents),
      list_prices: z.array(cents),
      discounts,
      total: cents,
      due_now: cents,
    }),
  ),
  offers: z.array(
    z.object({
      name: z.string(),
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
      subject_prices: z.array(cents),
      number_of_subjects: z.number(),
      full_payment: z.boolean(),
      invited_with_code: z.boolean(),
      invitees: z.number(),
      campaign: z.nullable(z.string()),
      base: cents,
      discounts,
      final: cents,
    }),
  ),
  instalments: z.array(z.object({ total: cents, payments: z.array(cents) })),
  instalment_refusals: z.array(
    z.object({
      name: z.string(),
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

const pricingWith = (campaign: string | null) =>
  Pricing.parse({
    ...goldenFile.pricing,
    campaign: campaign === null ? null : golden.campaigns[campaign],
  });
const pricing = pricingWith(null);

const itemsOf = ({ subjects, lessons }: { subjects: number[]; lessons: number[] }) => [
  ...subjects.map((priceCents) => ({ priceCents, complete: true })),
  ...lessons.map((priceCents) => ({ priceCents, complete: false })),
];
const discountsOf = (listed: [string, number][]) =>
  listed.map(([name, amountCents]) => ({ name, amountCents }));

describe("the golden cases shared with the server", () => {
  it("are at least 60", () => {
    expect(golden.cart.length + golden.calculator.length).toBeGreaterThanOrEqual(60);
  });

  it.each(golden.cart)("cart: $name", (wanted) => {
    const pricing = pricingWith(wanted.campaign);
    const paymentType: PaymentType = wanted.payment_type;
    const promo = wanted.promo && {
      kind: wanted.promo.kind,
      value: wanted.promo.value,
      isReferral: wanted.promo.is_referral,
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
    expect(dueNowCents(pricing, quote.totalCents, paymentType)).toBe(wanted.due_now);
  });

  it.each(golden.offers)(
    "binding quote: $name",
    ({ quoted, cart, payment_type, campaign, mismatch }) => {
      const terms = {
        subjectIds: quoted.subjects,
        paymentType: quoted.payment_type,
        priceCents: quoted.price,
      };
      const chosen = cart.map(([subjectId, priceCents, complete]) => ({
        subjectId,
        priceCents,
        complete,
      }));
      const today = quoteCart(pricingWith(campaign ?? null), chosen, {
        paymentType: payment_type,
        promo: null,
      });

      expect(quoteMismatch(terms, chosen, payment_type, today.totalCents)).toBe(mismatch);
    },
  );

  it.each(golden.calculator)("calculator: $name", (wanted) => {
    const quote = quoteCalculator(pricingWith(wanted.campaign), wanted.subject_prices, {
      numberOfSubjects: wanted.number_of_subjects,
      fullPayment: wanted.full_payment,
      invitedWithCode: wanted.invited_with_code,
      invitees: wanted.invitees,
    });
    expect(quote).toStrictEqual({
      baseCents: wanted.base,
      discounts: discountsOf(wanted.discounts),
      finalCents: wanted.final,
    });
  });

  it.each(golden.instalments)("instalments of $total cents", ({ total, payments }) => {
    expect(splitInstalments(pricing, total)).toStrictEqual(payments);
  });

  it.each(golden.instalment_refusals)("refusal of instalments: $name", (wanted) => {
    expect(instalmentsRefusal(pricing, itemsOf(wanted), wanted.total)).toBe(wanted.refusal);
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
  it("uses the volume table, percentages and instalment minimum that the server sends", () => {
    const other = Pricing.parse({
      ...goldenFile.pricing,
      volume: [[1, 7.5]],
      full_payment_percent: 10,
      installments: { count: 4, every_days: 10, minimum_total: 100.01 },
    });
    const items = [{ priceCents: 10_000, complete: true }];
    const quote = quoteCart(other, items, { paymentType: "full_payment", promo: null });
    expect(quote.discounts).toStrictEqual([
      { name: "Descuento por volumen", amountCents: 750 },
      { name: "Pago completo (10 %)", amountCents: 1000 },
    ]);
    expect(splitInstalments(other, 10_003)).toStrictEqual([2503, 2500, 2500, 2500]);
    expect(instalmentsRefusal(other, items, 10_000)).toBe("below_minimum");
    expect(instalmentsRefusal(other, items, 10_001)).toBeNull();
  });

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
    invitedWithCode: false,
    invitees: 0,
  };
  expect(() => quoteCalculator(pricing, [24_000], options)).toThrow("1 prices for 2 subjects");
});

it("limits a promo code's discount to the remaining total", () => {
  const fixed = { kind: "FIJO", value: 5000, isReferral: false } as const;
  const percentage = { kind: "PORCENTAJE", value: 1050, isReferral: false } as const;
  expect(promoDiscountCents(fixed, 3000)).toBe(3000);
  expect(promoDiscountCents(percentage, 3000)).toBe(315);
});

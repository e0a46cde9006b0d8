/** The API calls of the budget calculator. Parsed amounts are in cents. */
import * as z from "zod/mini";
import { EMAIL, EMAIL_INVALID, present, website } from "./leads";
import { cents } from "./money";
import { PaymentType } from "./paymentType";

const ALL_FIELDS = "Por favor, completa todos los campos";

/**
 * The contact data of a budget: checks that both fields are filled in before it checks each one.
 */
export const BudgetContact = z.pipe(
  z.object({ email: present(ALL_FIELDS), phone: present(ALL_FIELDS), website }),
  z.object({
    email: z.string().check(z.regex(EMAIL, EMAIL_INVALID)),
    phone: z
      .string()
      .check(z.regex(/^\s*\S.{7,28}\S\s*$/, "Por favor, introduce un teléfono válido")),
    website: z.string(),
  }),
);

/** A subject in the response of GET /api/subjects. */
export const BudgetSubject = z.pipe(
  z.object({ id: z.number(), name: z.string(), final_price: cents, degree_id: z.number() }),
  z.transform(({ id, name, final_price, degree_id }) => ({
    id,
    name,
    priceCents: final_price,
    degreeId: degree_id,
  })),
);
export type BudgetSubject = z.output<typeof BudgetSubject>;

const SentDiscount = z.pipe(
  z.object({ name: z.string(), amount: cents }),
  z.transform(({ name, amount }) => ({ name, amountCents: amount })),
);

const SentSubject = z.pipe(
  z.object({ id: z.number(), name: z.string(), final_price: cents }),
  z.transform(({ id, name, final_price }) => ({ id, name, priceCents: final_price })),
);

/** What binds of a quote that was sent: its price, and the discounts that the price leaves out. */
const BindingPart = z.pipe(
  z.object({
    path: z.string(),
    payment_type: PaymentType,
    valid_until: z.string(),
    binding_price: cents,
    unchecked: z.array(SentDiscount),
  }),
  z.transform((quote) => ({
    path: quote.path,
    paymentType: quote.payment_type,
    validUntil: new Date(quote.valid_until),
    priceCents: quote.binding_price,
    unchecked: quote.unchecked,
  })),
);
export type BindingPart = z.output<typeof BindingPart>;

/** The response of send-budget-email: the budget as computed by the server; null for bots. */
export const SentBudget = z.pipe(
  z.object({
    success: z.literal(true),
    budgetResult: z.optional(
      z.object({
        selectedSubjects: z.array(SentSubject),
        basePrice: cents,
        discounts: z.array(SentDiscount),
        finalPrice: cents,
      }),
    ),
    quote: z.optional(BindingPart),
  }),
  z.transform(({ budgetResult, quote }) =>
    budgetResult
      ? {
          subjects: budgetResult.selectedSubjects,
          baseCents: budgetResult.basePrice,
          discounts: budgetResult.discounts,
          finalCents: budgetResult.finalPrice,
          binding: quote,
        }
      : null,
  ),
);

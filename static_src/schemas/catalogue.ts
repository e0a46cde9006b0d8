/** Responses of the catalogue's API calls. Parsed amounts are in cents. */
import * as z from "zod/mini";
import { cents } from "./money";
import { PaymentType } from "./paymentType";

const count = z.number().check(z.nonnegative());

export const CatalogueLesson = z.pipe(
  z.object({
    id: z.number(),
    title: z.string(),
    subject_id: z.number(),
    price: cents,
    status: z.enum(["active", "expired"]),
  }),
  z.transform(({ id, title, subject_id, price, status }) => ({
    id,
    title,
    subjectId: subject_id,
    priceCents: price,
    active: status === "active",
  })),
);
export type CatalogueLesson = z.output<typeof CatalogueLesson>;

export const CatalogueSubject = z.pipe(
  z.object({
    id: z.number(),
    name: z.string(),
    final_price: cents,
    total_discounts: z.number().check(z.gte(0), z.lte(90)),
    lowest_price: z.optional(cents),
    enrolled_students_count: count,
    contents: z.string(),
    complete_only: z.boolean(),
    degree: z.object({
      id: z.number(),
      name: z.string(),
      university: z.object({ id: z.number(), acronym: z.string() }),
    }),
    lessons: z.array(CatalogueLesson),
  }),
  z.transform(({ id, name, degree, lessons, contents, ...rest }) => ({
    id,
    name,
    degree,
    lessons,
    contents,
    completeOnly: rest.complete_only,
    finalPriceCents: rest.final_price,
    totalDiscounts: rest.total_discounts,
    lowestCents: rest.lowest_price,
    enrolledStudents: rest.enrolled_students_count,
  })),
);
export type CatalogueSubject = z.output<typeof CatalogueSubject>;

/**
 * The response of GET /api/quotes: the subjects of a quote's link, and `terms` while its price
 * binds.
 */
export const QuotedCart = z.pipe(
  z.object({
    items: z.array(z.number()),
    subjects: z.array(CatalogueSubject),
    payment_type: PaymentType,
    valid_until: z.string(),
    binding_price: z.nullable(cents),
    installment_minimum: cents,
    notice: z.nullable(z.string()),
  }),
  z.transform(({ items, subjects, notice, ...rest }) => ({
    subjects,
    notice,
    terms:
      rest.binding_price === null
        ? null
        : {
            subjectIds: items,
            paymentType: rest.payment_type,
            priceCents: rest.binding_price,
            instalmentMinimumCents: rest.installment_minimum,
            validUntil: new Date(rest.valid_until),
          },
  })),
);

export type QuotedCart = z.output<typeof QuotedCart>;

export const CataloguePage = z.object({
  count,
  page: count,
  pages: count,
  results: z.array(CatalogueSubject),
});
export type CataloguePage = z.output<typeof CataloguePage>;

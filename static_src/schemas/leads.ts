/**
 * The forms of visitors (api.md, "Sends"). The keys stand in the order in which the specification
 * checks them; each message is its (site spec, section 5). `website` is the honeypot. Those that
 * home does not have are in `requests.ts`.
 */
import * as z from "zod/mini";
import { toCents } from "../lib/money";

/** The "simple address pattern" of the specification, as long as an address can be. */
const EMAIL = /^(?=.{0,254}$)\s*[^\s@]+@[^\s@]+\.[^\s@]+\s*$/;

/** The server's own limit and words. `what` begins the sentence. */
const atMost = (most: number, what: string) =>
  z.regex(RegExp(`^[^]{0,${most}}$`), `${what} no puede tener más de ${most} caracteres`);
const present = (message: string) => z.string().check(z.regex(/\S/, message));
/** A text that has to be there, and what is said where it is not: "El nombre es obligatorio". */
export const text = (message: string, most: number) =>
  present(message).check(atMost(most, message.split(" es ")[0] as string));
export const email = (missing: string, invalid: string) =>
  present(missing).check(z.regex(EMAIL, invalid));
export const ticked = (message: string) =>
  z.pipe(
    z.literal("on", message),
    z.transform(() => true),
  );
export const website = z._default(z.string(), "");

export const EMAIL_INVALID = "Por favor, introduce un email válido";
export const TERMS = "Debes aceptar los términos y condiciones para continuar.";

export const ContactMessage = z.object({
  name: text("El nombre es obligatorio", 120),
  email: email("El email es obligatorio", EMAIL_INVALID),
  phone: z.string().check(atMost(30, "El teléfono")),
  message: text("El mensaje es obligatorio", 5000),
  privacyAccepted: ticked("Debes aceptar la política de privacidad"),
  website,
});

/** The browser's own checks stand before it, with its own words (section 5). */
export const FreeSubjectRequest = z.object({
  email: z.string(),
  phone: z.string(),
  career: z.string(),
  acceptTerms: ticked(TERMS),
  website,
});

const ALL_FIELDS = "Por favor, completa todos los campos";

/** Who gets the budget by e-mail: first that both are there, then what is wrong with either. */
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

export const Sent = z.object({ success: z.literal(true) });

const cents = z.pipe(z.number(), z.transform(toCents));

/** A subject as GET /api/subjects answers it. */
export const QuotedSubject = z.pipe(
  z.object({ id: z.number(), name: z.string(), final_price: cents, degree_id: z.number() }),
  z.transform(({ id, name, final_price, degree_id }) => ({
    id,
    name,
    priceCents: final_price,
    degreeId: degree_id,
  })),
);
export type QuotedSubject = z.output<typeof QuotedSubject>;

const SentDiscount = z.pipe(
  z.object({ name: z.string(), amount: cents }),
  z.transform(({ name, amount }) => ({ name, amountCents: amount })),
);

const SentSubject = z.pipe(
  z.object({ id: z.number(), name: z.string(), final_price: cents }),
  z.transform(({ id, name, final_price }) => ({ id, name, priceCents: final_price })),
);

/** The answer of send-budget-email: the budget as the server computed it; null for machines. */
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
  }),
  z.transform(({ budgetResult }) =>
    budgetResult
      ? {
          subjects: budgetResult.selectedSubjects,
          baseCents: budgetResult.basePrice,
          discounts: budgetResult.discounts,
          finalCents: budgetResult.finalPrice,
        }
      : null,
  ),
);

/**
 * The forms of visitors (api.md, "Sends"). The keys stand in the order in which the specification
 * checks them; each message is its (site spec, section 5). `website` is the honeypot. Those that
 * home does not have are in `requests.ts`.
 */
import * as z from "zod/mini";
import { toCents } from "../lib/money";

/** The "simple address pattern" of the specification. */
const EMAIL = /^\s*[^\s@]+@[^\s@]+\.[^\s@]+\s*$/;

export const text = (message: string) => z.string().check(z.regex(/\S/, message));
export const email = (missing: string, invalid: string) =>
  text(missing).check(z.regex(EMAIL, invalid));
export const ticked = (message: string) =>
  z.pipe(
    z.literal("on", message),
    z.transform(() => true),
  );
export const website = z._default(z.string(), "");

export const EMAIL_INVALID = "Por favor, introduce un email válido";
export const TERMS = "Debes aceptar los términos y condiciones para continuar.";

export const ContactMessage = z.object({
  name: text("El nombre es obligatorio"),
  email: email("El email es obligatorio", EMAIL_INVALID),
  phone: z.string(),
  message: text("El mensaje es obligatorio"),
  privacyAccepted: ticked("Debes aceptar la política de privacidad"),
  website,
});

export const FreeSubjectRequest = z.object({
  email: email("El email es obligatorio", EMAIL_INVALID),
  phone: text("El teléfono es obligatorio"),
  career: text("La carrera es obligatoria"),
  acceptTerms: ticked(TERMS),
  website,
});

const ALL_FIELDS = "Por favor, completa todos los campos";

/** Who gets the budget by e-mail: first that both are there, then what is wrong with either. */
export const BudgetContact = z.pipe(
  z.object({ email: text(ALL_FIELDS), phone: text(ALL_FIELDS), website }),
  z.object({
    email: z.string().check(z.regex(EMAIL, EMAIL_INVALID)),
    phone: z.string().check(z.regex(/\S.{7,}\S/, "Por favor, introduce un teléfono válido")),
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

/** The answer of send-budget-email: the budget as the server computed it; null for machines. */
export const SentBudget = z.pipe(
  z.object({
    success: z.literal(true),
    budgetResult: z.optional(
      z.object({ basePrice: cents, discounts: z.array(SentDiscount), finalPrice: cents }),
    ),
  }),
  z.transform(({ budgetResult }) =>
    budgetResult
      ? {
          baseCents: budgetResult.basePrice,
          discounts: budgetResult.discounts,
          finalCents: budgetResult.finalPrice,
        }
      : null,
  ),
);

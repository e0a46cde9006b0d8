/** What the buyer says of a gift: fields, validation and error messages. */
import { type ContactErrors, type ContactField, FIELD_ORDER, isEmail } from "./contact";

/** The names are those of the API. `deliver_on` is a day like "2026-12-24". */
export type Gift = {
  sender: string;
  name: string;
  email: string;
  deliver_on: string;
  message: string;
};
/** The name of a field in the form and in the server's messages. */
export type GiftField = `gift.${keyof Gift}`;
export type GiftErrors = Partial<Record<GiftField, string>>;

// The rules of the server (`apps/orders/gifts/details.py`).
export const NAME_LENGTH = 60;
export const MESSAGE_LENGTH = 500;
const LATEST_DELIVERY_DAYS = 90;
// What a mail program makes a link of.
const LINK = /:\/\/|www\.|@|[\p{L}\p{N}_]\.\p{L}{2}/iu;
// Browsers read the full stops of Asian scripts in an address as points, too (UTS 46).
const hasLink = (text: string): boolean =>
  LINK.test(text.normalize("NFKC").replaceAll("\u3002", "."));
const NO_LINKS =
  "No puede llevar direcciones web ni de correo. Deja un espacio después de cada punto.";

/** The fields of step 1 of the payment dialog, and their messages. */
export type StepField = ContactField | GiftField;
export type StepErrors = ContactErrors & GiftErrors;

export const GIFT_FIELDS: GiftField[] = [
  "gift.sender",
  "gift.name",
  "gift.email",
  "gift.deliver_on",
  "gift.message",
];

/** All fields in the order of the form. The first invalid one gets the focus. */
export const STEP_ORDER: StepField[] = [
  ...FIELD_ORDER.slice(0, 3),
  ...GIFT_FIELDS,
  ...FIELD_ORDER.slice(3),
];

/** The day in Europe/Madrid, so many days from today. */
function dayFromToday(days: number): string {
  const moment = new Date(Date.now() + days * 24 * 3600 * 1000);
  // Swedish days are written as in "2026-12-24".
  return moment.toLocaleDateString("sv-SE", { timeZone: "Europe/Madrid" });
}

export const firstDay = (): string => dayFromToday(0);
export const lastDay = (): string => dayFromToday(LATEST_DELIVERY_DAYS);

export const newGift = (): Gift => ({
  sender: "",
  name: "",
  email: "",
  deliver_on: firstDay(),
  message: "",
});

export function giftErrors(gift: Gift | null | undefined, buyerEmail: string): GiftErrors {
  const errors: GiftErrors = {};
  if (!gift) return errors;
  if (!gift.sender.trim()) errors["gift.sender"] = "Escribe quién lo regala.";
  for (const field of ["sender", "name", "message"] as const) {
    if (hasLink(gift[field])) errors[`gift.${field}`] = NO_LINKS;
  }
  const email = gift.email.trim();
  if (!email) errors["gift.email"] = "Escribe el email de quien lo recibe.";
  else if (!isEmail(email)) errors["gift.email"] = "Este email no parece válido. Revísalo.";
  else if (email.toLowerCase() === buyerEmail.trim().toLowerCase()) {
    errors["gift.email"] = "Es tu propio email: escribe el de quien recibe el regalo.";
  }
  if (!gift.deliver_on) errors["gift.deliver_on"] = "Elige el día de entrega.";
  else if (gift.deliver_on < firstDay()) errors["gift.deliver_on"] = "Ese día ya ha pasado.";
  else if (gift.deliver_on > lastDay()) {
    errors["gift.deliver_on"] = `Como mucho, ${LATEST_DELIVERY_DAYS} días desde hoy.`;
  }
  return errors;
}

/** "24 de diciembre de 2026" for "2026-12-24". */
export const giftDay = (day: string): string =>
  new Intl.DateTimeFormat("es-ES", { dateStyle: "long", timeZone: "UTC" }).format(
    new Date(`${day}T00:00:00Z`),
  );

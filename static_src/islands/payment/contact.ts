/** The buyer's contact data: fields, validation and error messages. */

export type Contact = {
  email: string;
  /** Country prefix, digits only, without the plus sign. */
  prefix: string;
  /** National number, digits only. */
  phone: string;
  termsAccepted: boolean;
  privacyAccepted: boolean;
  /** Terms and privacy were accepted with the box beside the wallets. */
  besideWallet?: boolean;
};

export type ContactField = Exclude<keyof Contact, "besideWallet">;
export type ContactErrors = Partial<Record<ContactField, string>>;

const PREFIX_LENGTH = 3;
const PHONE_DIGITS = 9;
const E164_DIGITS = 15;
// The rules of the server (`apps/orders/contact_rules.py`). `contact_cases.json` tests both.
const EMAIL_LENGTH = 254;
const LOCAL_PART = /^[-!#$%&'*+/=?^_`{}|~\w]+(\.[-!#$%&'*+/=?^_`{}|~\w]+)*$/;
const DOMAIN =
  /^[a-z\u00a1-\uffff\d]([a-z\u00a1-\uffff\d-]{0,61}[a-z\u00a1-\uffff\d])?(\.(?!-)[a-z\u00a1-\uffff\d-]{1,63}(?<!-))*\.(?!-)([a-z\u00a1-\uffff-]{2,63}|xn--[a-z\d]{1,59})(?<!-)$/i;
// The country prefixes of E.164. All of three digits count as assigned.
const COUNTRY_PREFIX = /^(?:[17]|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|[2-9]\d\d)/;
// The order of the form.
export const FIELD_ORDER: ContactField[] = [
  "email",
  "prefix",
  "phone",
  "termsAccepted",
  "privacyAccepted",
];

export const EMPTY_CONTACT: Contact = {
  email: "",
  prefix: "34",
  phone: "",
  termsAccepted: false,
  privacyAccepted: false,
};

const digits = (text: string) => text.replace(/\D/g, "");

/** The digits of a typed or pasted country prefix, at most three. */
export function cleanPrefix(text: string): string {
  return digits(text).slice(0, PREFIX_LENGTH);
}

/**
 * What is typed or pasted into the phone field. Of a number with its country prefix, as in
 * "+34 600…" and "0034 600…", the prefix moves to its own field once it is complete. Until then the
 * plus sign stays in the phone field.
 */
export function typedPhone(text: string, prefix: string): { prefix: string; phone: string } {
  const kept = digits(text);
  const plus = text.trim().startsWith("+");
  if (!plus && !kept.startsWith("00")) return { prefix, phone: kept };
  const international = plus ? kept : kept.slice(2);
  const typedPrefix = countryPrefix(international);
  return typedPrefix
    ? { prefix: typedPrefix, phone: international.slice(typedPrefix.length) }
    : { prefix, phone: `+${international}` };
}

/** The country prefix that a number starts with, or an empty string. */
const countryPrefix = (number: string): string => COUNTRY_PREFIX.exec(number)?.[0] ?? "";

export function isEmail(email: string): boolean {
  const at = email.lastIndexOf("@");
  return (
    email.length <= EMAIL_LENGTH &&
    LOCAL_PART.test(email.slice(0, Math.max(0, at))) &&
    DOMAIN.test(email.slice(at + 1))
  );
}

export function contactErrors(contact: Contact): ContactErrors {
  const errors: ContactErrors = {};
  const email = contact.email.trim();
  if (!email) errors.email = "Escribe tu email.";
  else if (!isEmail(email)) errors.email = "Este email no parece válido. Revísalo.";
  if (!contact.prefix) errors.prefix = "Escribe el prefijo de tu país.";
  else if (countryPrefix(contact.prefix + contact.phone) !== contact.prefix) {
    errors.prefix = "Ese prefijo no existe. El de España es 34.";
  }
  const count = digits(contact.phone).length;
  const withPrefix = contact.prefix.length + count;
  const isSpanish = contact.prefix === EMPTY_CONTACT.prefix;
  if (!contact.phone) errors.phone = "Escribe tu teléfono.";
  else if ((isSpanish ? count : withPrefix) < PHONE_DIGITS) {
    const what = isSpanish ? "El teléfono" : "El teléfono, con su prefijo,";
    errors.phone = `${what} debe tener al menos ${PHONE_DIGITS} dígitos.`;
  } else if (withPrefix > E164_DIGITS) {
    errors.phone = `El teléfono, con su prefijo, puede tener como mucho ${E164_DIGITS} dígitos.`;
  }
  if (!contact.termsAccepted) errors.termsAccepted = "Debes aceptar los términos y condiciones.";
  if (!contact.privacyAccepted) errors.privacyAccepted = "Debes aceptar la política de privacidad.";
  return errors;
}

export function isValid(contact: Contact): boolean {
  return Object.keys(contactErrors(contact)).length === 0;
}

/** The phone number as the server stores it, in E.164 format: "+34600123123". */
export function e164(contact: Contact): string {
  return `+${contact.prefix}${contact.phone}`;
}

/** The form's contact data of a student, whose phone is stored as in "+34600123123". */
export function contactOf(student: { email: string; phone: string }): Contact {
  const number = digits(student.phone);
  const prefix = countryPrefix(number);
  return {
    email: student.email,
    prefix: prefix || EMPTY_CONTACT.prefix,
    phone: number.slice(prefix.length),
    termsAccepted: true,
    privacyAccepted: true,
  };
}

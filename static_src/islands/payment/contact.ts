/** The buyer's contact data: fields, validation and error messages. */

export type Contact = {
  email: string;
  /** Country prefix, digits only, without the plus sign. */
  prefix: string;
  /** National number, digits only. */
  phone: string;
  termsAccepted: boolean;
  privacyAccepted: boolean;
};

export type ContactField = keyof Contact;
export type ContactErrors = Partial<Record<ContactField, string>>;

const PREFIX_LENGTH = 3;
const PHONE_DIGITS = 9;
// As permissive as the browser's own e-mail field, but requires a dot in the domain.
const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/;
// The order of the form. The first invalid field gets the focus.
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
 * The digits of a typed or pasted phone number. A pasted "+34 600…" or "0034 600…" loses its
 * prefix, which has its own field.
 */
export function cleanPhone(text: string, prefix: string): string {
  const kept = digits(text);
  const international = text.trim().startsWith("+") ? kept : kept.replace(/^00/, "");
  const hasPrefix = kept !== international || text.trim().startsWith("+");
  return hasPrefix && prefix && international.startsWith(prefix)
    ? international.slice(prefix.length)
    : kept;
}

export function contactErrors(contact: Contact): ContactErrors {
  const errors: ContactErrors = {};
  const email = contact.email.trim();
  if (!email) errors.email = "Escribe tu correo electrónico.";
  else if (!EMAIL.test(email)) errors.email = "Este correo no parece válido. Revísalo.";
  if (!contact.prefix) errors.prefix = "Escribe el prefijo de tu país.";
  if (!contact.phone) errors.phone = "Escribe tu teléfono.";
  else if (contact.phone.length < PHONE_DIGITS) {
    errors.phone = `El teléfono debe tener al menos ${PHONE_DIGITS} dígitos.`;
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

/**
 * A stored phone "+34600123123" split into the form's two fields. The exact end of the prefix
 * cannot be known without a table of countries. Any split works, because `e164` joins it to the
 * same number.
 */
export function contactOf(student: { email: string; phone: string }): Contact {
  const number = digits(student.phone);
  const prefixLength = Math.min(PREFIX_LENGTH, Math.max(0, number.length - PHONE_DIGITS));
  return {
    email: student.email,
    prefix: number.slice(0, prefixLength) || EMPTY_CONTACT.prefix,
    phone: number.slice(prefixLength),
    termsAccepted: true,
    privacyAccepted: true,
  };
}

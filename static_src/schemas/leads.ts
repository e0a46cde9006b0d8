/** Validation shared by the lead forms, and the response of their API calls. */
import * as z from "zod/mini";

/** A simple pattern of an e-mail address, with at most 254 characters. */
export const EMAIL = /^(?=.{0,254}$)\s*[^\s@]+@[^\s@]+\.[^\s@]+\s*$/;

/** The server's length limit and message. `what` is the subject of the message. */
export const atMost = (most: number, what: string) =>
  z.regex(RegExp(`^[^]{0,${most}}$`), `${what} no puede tener más de ${most} caracteres`);
export const present = (message: string) => z.string().check(z.regex(/\S/, message));
/** A required text. `message` is for example "El nombre es obligatorio". */
export const text = (message: string, most: number) =>
  present(message).check(atMost(most, message.split(" es ")[0] as string));
export const email = (missing: string, invalid: string) =>
  present(missing).check(z.regex(EMAIL, invalid));
export const ticked = (message: string) =>
  z.pipe(
    z.literal("on", message),
    z.transform(() => true),
  );
/** The honeypot: a field that visitors do not see and that only bots fill in. */
export const website = z._default(z.string(), "");

export const EMAIL_INVALID = "Por favor, introduce un email válido";
export const TERMS = "Debes aceptar los términos y condiciones para continuar.";

export const Sent = z.object({ success: z.literal(true) });

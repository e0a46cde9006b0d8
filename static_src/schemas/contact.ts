import * as z from "zod/mini";
import { atMost, EMAIL_INVALID, email, text, ticked, website } from "./leads";

/** The contact form. Fields are checked in the order of the page. The server checks the phone last. */
export const ContactMessage = z.object({
  name: text("El nombre es obligatorio", 120),
  email: email("El email es obligatorio", EMAIL_INVALID),
  phone: z.string().check(atMost(30, "El teléfono")),
  message: text("El mensaje es obligatorio", 5000),
  privacyAccepted: ticked("Debes aceptar la política de privacidad"),
  website,
});

import * as z from "zod/mini";
import { EMAIL_INVALID, email, TERMS, text, ticked, website } from "./leads";

/** The careers of the discount request, with the names shown to visitors. */
export const CAREERS = {
  ade: "ADE",
  comunicacion: "Comunicación",
  derecho: "Derecho",
  economia: "Economía",
  "educacion-primaria": "Educación Primaria",
  "educacion-social": "Educación Social",
  logopedia: "Logopedia",
  marketing: "Marketing",
  psicologia: "Psicología",
  "relaciones-laborales": "Relaciones Laborales",
  turismo: "Turismo",
  otras: "Otras",
} as const;

/** The order of the keys is the order of the checks. */
export const DiscountRequest = z.object({
  acceptTerms: ticked(TERMS),
  phone: text("El teléfono es obligatorio", 30),
  email: email("El email es obligatorio", EMAIL_INVALID),
  career: z.enum(Object.keys(CAREERS) as (keyof typeof CAREERS)[], "La carrera es obligatoria"),
  website,
});

/** The forms of visitors that home does not have; `leads.ts` has the others and says the rules. */
import * as z from "zod/mini";
import { EMAIL_INVALID, email, TERMS, text, ticked, website } from "./leads";

/** The choices of the discount request, as people read them. */
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

export const DiscountRequest = z.object({
  acceptTerms: ticked(TERMS),
  phone: text("El teléfono es obligatorio", 30),
  email: email("El email es obligatorio", EMAIL_INVALID),
  career: z.enum(Object.keys(CAREERS) as (keyof typeof CAREERS)[], "La carrera es obligatoria"),
  website,
});

export const SubjectRequest = z.object({
  name: text("El nombre es obligatorio", 120),
  email: email("El email es obligatorio", "Email inválido"),
  phone: text("El teléfono es obligatorio", 30),
  university: text("La universidad es obligatoria", 160),
  career: text("La carrera es obligatoria", 160),
  subjectName: text("El nombre de asignatura es obligatorio", 160),
  website,
});

export const ATTACHMENT_TYPES = [".pdf", ".doc", ".docx", ".txt", ".jpg", ".jpeg", ".png"];
const ATTACHMENT_MOST_BYTES = 10 * 1024 * 1024;

/** The server looks into the file as well; its name and size are enough to spare a journey. */
function attachmentError({ name, size }: File): string | undefined {
  if (size === 0) return "El archivo es obligatorio";
  if (size > ATTACHMENT_MOST_BYTES) return "El archivo no puede superar los 10 MB";
  if (ATTACHMENT_TYPES.some((ending) => name.toLowerCase().endsWith(ending))) return undefined;
  return "Solo se admiten archivos PDF, DOC, DOCX, TXT, JPG, JPEG o PNG";
}

export const PreviewContact = z.object({
  email: email("El email es obligatorio", EMAIL_INVALID),
  attachment: z.transform((file: File, context) => {
    const message = attachmentError(file);
    if (message) context.issues.push({ code: "custom", message, input: file });
    return file;
  }),
  acceptTerms: ticked(TERMS),
  website,
});

import * as z from "zod/mini";
import { EMAIL_INVALID, email, TERMS, ticked, website } from "./leads";

export const ATTACHMENT_TYPES = [".pdf", ".doc", ".docx", ".txt", ".jpg", ".jpeg", ".png"];
const ATTACHMENT_MAX_BYTES = 10 * 1024 * 1024;

/** Checks the file's name and size before the upload. The server also checks the content. */
function attachmentError({ name, size }: File): string | undefined {
  if (size === 0) return "El archivo es obligatorio";
  if (size > ATTACHMENT_MAX_BYTES) return "El archivo no puede superar los 10 MB";
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

import * as z from "zod/mini";
import { TERMS, ticked, website } from "./leads";

/** The browser validates this form, with its own messages. */
export const FreeSubjectRequest = z.object({
  email: z.string(),
  phone: z.string(),
  career: z.string(),
  acceptTerms: ticked(TERMS),
  website,
});

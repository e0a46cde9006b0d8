import * as z from "zod/mini";
import { email, text, website } from "./leads";

/** The order of the keys is the order of the checks. */
export const SubjectRequest = z.object({
  name: text("El nombre es obligatorio", 120),
  email: email("El email es obligatorio", "Email inválido"),
  phone: text("El teléfono es obligatorio", 30),
  university: text("La universidad es obligatoria", 160),
  career: text("La carrera es obligatoria", 160),
  subjectName: text("El nombre de asignatura es obligatorio", 160),
  website,
});

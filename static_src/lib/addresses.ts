/** The addresses of subjects' pages, as `apps/catalogue/addresses.py` makes them. */
import type { CatalogueSubject } from "../schemas/catalogue";

export function subjectPath({ id, name, degree }: CatalogueSubject): string {
  const { university } = degree;
  return `/asignaturas/${part(university.acronym, university.id)}/${part(name, id)}`;
}

/** Words and an id. The server redirects from other words: only the id decides. */
function part(words: string, id: number): string {
  const plain = words
    .normalize("NFD")
    .replace(/[^\w\s-]/g, "")
    .trim()
    .toLowerCase()
    .replace(/[-\s]+/g, "-");
  return `${plain || "asignatura"}-${id}`;
}

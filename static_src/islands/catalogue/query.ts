/**
 * The query string of /compra: universidad, carrera, buscar, orden, pagina, por_pagina. Invalid values
 * fall back to the defaults. The server parses it in the same way in `apps/pages/catalogue_page.py`.
 */
export const PAGE_SIZES = [6, 9, 12, 18] as const;
export const EVERYTHING = "todas";
/** The page size with which "Todas" loads the subjects. */
const EVERYTHING_PAGE_SIZE = 18;
const DEFAULT_PAGE_SIZE = 9;
const LONGEST_SEARCH = 100;

/** The values of `orden` with their labels. The first is the default. */
export const ORDERS = {
  matriculados: "Más matriculados",
  nombre: "Nombre",
  precio: "Precio",
} as const;
const SORTS = { matriculados: "", nombre: "name", precio: "price" };
const DEFAULT_ORDER = "matriculados";

export type Order = keyof typeof ORDERS;

export type PageSize = (typeof PAGE_SIZES)[number] | typeof EVERYTHING;

export type CatalogueQuery = {
  universityId: number | null;
  degreeId: number | null;
  search: string;
  order: Order;
  page: number;
  pageSize: PageSize;
};

/** `openUniversityIds` are ordered by name. The first university is the default. */
export function parseQuery(queryString: string, openUniversityIds: number[]): CatalogueQuery {
  const params = new URLSearchParams(queryString);
  const universityId = wholeNumber(params.get("universidad"));
  const pageSize = parsePageSize(params.get("por_pagina"));
  return {
    universityId:
      universityId !== null && openUniversityIds.includes(universityId)
        ? universityId
        : (openUniversityIds[0] ?? null),
    degreeId: wholeNumber(params.get("carrera")),
    search: cleanSearch(params.get("buscar") ?? ""),
    order: parseOrder(params.get("orden")),
    page: pageSize === EVERYTHING ? 1 : (wholeNumber(params.get("pagina")) ?? 1) || 1,
    pageSize,
  };
}

/** The query string for a query. Keeps other parameters of the current query string. */
export function formatQuery(
  query: CatalogueQuery,
  openUniversityIds: number[],
  currentQueryString: string,
): string {
  const params = new URLSearchParams(currentQueryString);
  const set = (name: string, value: string | number | null) => {
    if (value === null || value === "") params.delete(name);
    else params.set(name, String(value));
  };
  set("universidad", query.universityId === openUniversityIds[0] ? null : query.universityId);
  set("carrera", query.degreeId);
  set("buscar", query.search);
  set("orden", query.order === DEFAULT_ORDER ? null : query.order);
  set("por_pagina", query.pageSize === DEFAULT_PAGE_SIZE ? null : query.pageSize);
  set("pagina", query.page > 1 ? query.page : null);
  const text = params.toString();
  return text ? `?${text}` : "";
}

/**
 * The query string with what the link of the page before named: code, quote, subjects and lessons. Until
 * the script has loaded the server answers a press on "Seleccionar todo", and its form sends the filters
 * and that subject alone. `page` is the address of /compra, `referrer` that of the page before.
 */
export function withLinkBefore(queryString: string, page: string, referrer: string): string {
  const [address, before] = referrer.split("?");
  const params = new URLSearchParams(queryString);
  if (address !== page || !before || !params.has("asignatura")) return queryString;
  const former = new URLSearchParams(before);
  for (const name of ["codigo", "presupuesto"]) {
    const value = former.get(name);
    if (value !== null && !params.has(name)) params.set(name, value);
  }
  // The whole of a subject is chosen by its button, also if the link had named it or lessons of it.
  const pressed = params.getAll("asignatura");
  const isNamed = former.getAll("asignatura").some((id) => pressed.includes(id));
  for (const name of isNamed ? ["asignatura"] : ["asignatura", "leccion"]) {
    // The server reads the last subject, which is the one just chosen.
    const own = params.getAll(name);
    const values = [...former.getAll(name).filter((value) => !own.includes(value)), ...own];
    params.delete(name);
    for (const value of values) params.append(name, value);
  }
  return `?${params}`;
}

/** The path of one page of GET /api/catalogue. Also its key in the cache. */
export function cataloguePath(query: CatalogueQuery, page = query.page): string {
  const params = new URLSearchParams({ university_id: String(query.universityId) });
  if (query.degreeId !== null) params.set("degree_id", String(query.degreeId));
  if (query.search) params.set("search", query.search);
  if (query.order !== DEFAULT_ORDER) params.set("sort", SORTS[query.order]);
  params.set("page", String(page));
  const size = query.pageSize === EVERYTHING ? EVERYTHING_PAGE_SIZE : query.pageSize;
  params.set("page_size", String(size));
  return `/api/catalogue?${params}`;
}

export function parsePageSize(text: string | null): PageSize {
  if (text === EVERYTHING) return EVERYTHING;
  return PAGE_SIZES.find((size) => String(size) === text) ?? DEFAULT_PAGE_SIZE;
}

export function parseOrder(text: string | null): Order {
  return text !== null && Object.hasOwn(ORDERS, text) ? (text as Order) : DEFAULT_ORDER;
}

export function cleanSearch(text: string): string {
  return text.replaceAll("\0", "").trim().slice(0, LONGEST_SEARCH);
}

/** The page numbers of the pager: first, last and those next to the current page; null is a gap. */
export function pageNumbers(page: number, pages: number): (number | null)[] {
  const shown = [...new Set([1, page - 1, page, page + 1, pages])]
    .filter((number) => number >= 1 && number <= pages)
    .sort((a, b) => a - b);
  return shown.flatMap((number, index) =>
    number - (shown[index - 1] ?? 0) > 1 ? [null, number] : [number],
  );
}

function wholeNumber(text: string | null): number | null {
  return text !== null && /^\d{1,9}$/.test(text) ? Number(text) : null;
}

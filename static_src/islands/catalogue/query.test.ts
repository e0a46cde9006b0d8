import { describe, expect, it } from "vitest";
import { cataloguePath, formatQuery, pageNumbers, parseQuery, withLinkBefore } from "./query";

const OPEN = [4, 2];
const DEFAULT = {
  universityId: 4,
  degreeId: null,
  search: "",
  order: "matriculados",
  page: 1,
  pageSize: 9,
} as const;

describe("parsing the query string", () => {
  it("defaults to the first open university, all degrees and page 1 with 9 subjects", () => {
    expect(parseQuery("", OPEN)).toEqual(DEFAULT);
  });

  it("parses every parameter", () => {
    expect(
      parseQuery(
        "?universidad=2&carrera=7&buscar=%20derecho%20&orden=precio&pagina=3&por_pagina=18",
        OPEN,
      ),
    ).toEqual({
      universityId: 2,
      degreeId: 7,
      search: "derecho",
      order: "precio",
      page: 3,
      pageSize: 18,
    });
  });

  it.each([
    "?universidad=99",
    "?universidad=abc&pagina=-1",
    "?pagina=0&por_pagina=7",
    "?pagina=99999999999999999999&por_pagina=Todas",
    "?carrera=1.5&buscar=%20%20",
    "?orden=constructor",
  ])("falls back to the defaults for the invalid values of %s", (queryString) => {
    expect(parseQuery(queryString, OPEN)).toEqual(DEFAULT);
  });

  it("ignores the page number when all subjects are shown", () => {
    expect(parseQuery("?por_pagina=todas&pagina=4", OPEN)).toEqual({
      ...DEFAULT,
      pageSize: "todas",
    });
  });

  it("has no university when none is open", () => {
    expect(parseQuery("?universidad=4", []).universityId).toBeNull();
  });

  it("cuts a search at 100 characters, as the server does", () => {
    expect(parseQuery(`?buscar=${"a".repeat(150)}`, OPEN).search).toBe("a".repeat(100));
  });
});

describe("formatting the query string", () => {
  it("leaves out the defaults", () => {
    expect(formatQuery(DEFAULT, OPEN, "?universidad=4&pagina=1&por_pagina=9")).toBe("");
  });

  it("produces a query string that parses to the same query", () => {
    const query = {
      universityId: 2,
      degreeId: 7,
      search: "año & más",
      order: "nombre",
      page: 3,
      pageSize: 12,
    } as const;
    expect(parseQuery(formatQuery(query, OPEN, ""), OPEN)).toEqual(query);
  });

  it("keeps other parameters of the address", () => {
    expect(formatQuery({ ...DEFAULT, page: 2 }, OPEN, "?presupuesto=x&carrera=3")).toBe(
      "?presupuesto=x&pagina=2",
    );
  });
});

describe("the path of the API call", () => {
  it("has only the filters that are set", () => {
    expect(cataloguePath(DEFAULT)).toBe("/api/catalogue?university_id=4&page=1&page_size=9");
    expect(cataloguePath({ ...DEFAULT, degreeId: 7, search: "año", page: 2 })).toBe(
      "/api/catalogue?university_id=4&degree_id=7&search=a%C3%B1o&page=2&page_size=9",
    );
  });

  it("names the order that the visitor has chosen", () => {
    expect(cataloguePath({ ...DEFAULT, order: "precio" })).toBe(
      "/api/catalogue?university_id=4&sort=price&page=1&page_size=9",
    );
  });

  it("loads all subjects in pages of 18", () => {
    expect(cataloguePath({ ...DEFAULT, pageSize: "todas" }, 3)).toBe(
      "/api/catalogue?university_id=4&page=3&page_size=18",
    );
  });
});

describe("the page numbers of the pager", () => {
  it.each([
    [1, 1, [1]],
    [1, 2, [1, 2]],
    [2, 3, [1, 2, 3]],
    [1, 14, [1, 2, null, 14]],
    [7, 14, [1, null, 6, 7, 8, null, 14]],
    [14, 14, [1, null, 13, 14]],
  ])("for page %i of %i", (page, pages, numbers) => {
    expect(pageNumbers(page, pages)).toEqual(numbers);
  });
});

describe("the link of the page before", () => {
  const PAGE = "https://x.test/compra";
  const kept = (current: string, before: string) => withLinkBefore(current, PAGE, before);

  it("keeps its code, quote, subject and lessons beside the subject chosen there", () => {
    const before = `${PAGE}?codigo=ANA&presupuesto=7.abc&asignatura=5&leccion=31&leccion=32&pagina=2`;
    expect(kept("?universidad=4&asignatura=7", before)).toBe(
      "?universidad=4&codigo=ANA&presupuesto=7.abc&asignatura=5&asignatura=7&leccion=31&leccion=32",
    );
    // The button of the subject itself chooses the whole of it.
    expect(kept("?codigo=EVA&asignatura=5", before)).toBe(
      "?codigo=EVA&presupuesto=7.abc&asignatura=5",
    );
    expect(kept("?asignatura=5", `${PAGE}?asignatura=5&asignatura=7&leccion=31`)).toBe(
      "?asignatura=7&asignatura=5",
    );
  });

  it("is ignored if no subject was chosen there, and if it is another page", () => {
    for (const [current, before] of [
      ["?universidad=4", `${PAGE}?codigo=ANA`],
      ["", `${PAGE}?codigo=ANA`],
      ["?asignatura=7", `${PAGE}`],
      ["?asignatura=7", ""],
      ["?asignatura=7", "https://x.test/precios?codigo=ANA"],
      ["?asignatura=7", "https://other.test/compra?codigo=ANA"],
    ] as const) {
      expect(kept(current, before)).toBe(current);
    }
  });
});

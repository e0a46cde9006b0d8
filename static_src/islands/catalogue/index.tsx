import * as z from "zod/mini";
import { defineIsland } from "../../lib/island";
import { Academy } from "../../schemas/academy";
import { CataloguePage, CatalogueSubject, Degree, University } from "../../schemas/catalogue";
import { Pricing } from "../../schemas/pricing";
import { Catalogue } from "./Catalogue";
import { EVERYTHING, PAGE_SIZES } from "./query";

/** What `apps/pages/compra.py` hands over: the view that its HTML already shows. */
const Props = z.object({
  universities: z.array(University),
  degrees: z.array(Degree),
  page: CataloguePage,
  pricing: Pricing,
  academy: Academy,
  // The subject that the link names; its `subject` is null where it is not on sale.
  chosen: z.nullable(z.object({ subject: z.nullable(CatalogueSubject) })),
  query: z.pipe(
    z.object({
      university_id: z.nullable(z.number()),
      degree_id: z.nullable(z.number()),
      search: z.string(),
      page: z.number(),
      page_size: z.union([z.literal(PAGE_SIZES), z.literal(EVERYTHING)]),
    }),
    z.transform((query) => ({
      universityId: query.university_id,
      degreeId: query.degree_id,
      search: query.search,
      page: query.page,
      pageSize: query.page_size,
    })),
  ),
});

export default defineIsland(Props, Catalogue);

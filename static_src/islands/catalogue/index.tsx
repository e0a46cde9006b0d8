import * as z from "zod/mini";
import "../payment/buying";
import { defineIsland } from "../../lib/island";
import { Academy } from "../../schemas/academy";
import { CataloguePage, CatalogueSubject } from "../../schemas/catalogue";
import { Pricing } from "../../schemas/pricing";
import { Degree, University } from "../../schemas/universities";
import { Catalogue } from "./Catalogue";
import { EVERYTHING, PAGE_SIZES, parseOrder, withLinkBefore } from "./query";

const { origin, pathname, search } = window.location;
const link = withLinkBefore(search, origin + pathname, document.referrer);
if (link !== search) window.history.replaceState(null, "", pathname + link);

/**
 * The props from `apps/pages/catalogue_page.py`: the data of the page that the server's HTML already shows.
 */
const Props = z.object({
  universities: z.array(University),
  degrees: z.array(Degree),
  page: CataloguePage,
  pricing: Pricing,
  academy: Academy,
  // The subject in the page's link. Its `subject` is null if it is not on sale.
  chosen: z.nullable(z.object({ subject: z.nullable(CatalogueSubject) })),
  query: z.pipe(
    z.object({
      university_id: z.nullable(z.number()),
      degree_id: z.nullable(z.number()),
      search: z.string(),
      order: z.pipe(
        z.string(),
        z.transform((text: string) => parseOrder(text)),
      ),
      page: z.number(),
      page_size: z.union([z.literal(PAGE_SIZES), z.literal(EVERYTHING)]),
    }),
    z.transform((query) => ({
      universityId: query.university_id,
      degreeId: query.degree_id,
      search: query.search,
      order: query.order,
      page: query.page,
      pageSize: query.page_size,
    })),
  ),
});

export default defineIsland(Props, Catalogue);

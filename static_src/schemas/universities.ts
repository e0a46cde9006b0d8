/** Responses of GET /api/universities and GET /api/degrees. */
import * as z from "zod/mini";

export const University = z.pipe(
  z.object({
    id: z.number(),
    name: z.string(),
    acronym: z.string(),
    coming_soon: z.boolean(),
  }),
  z.transform(({ coming_soon, ...rest }) => ({ ...rest, comingSoon: coming_soon })),
);
export type University = z.output<typeof University>;

export const Degree = z.object({ id: z.number(), name: z.string() });
export type Degree = z.output<typeof Degree>;

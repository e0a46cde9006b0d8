import * as z from "zod/mini";
import { defineIsland } from "../../lib/island";
import { Academy } from "../../schemas/academy";
import { Pricing } from "../../schemas/pricing";
import { Calculator } from "./Calculator";

/** The props from `apps/pages/calculator_props.py`. */
const Props = z.pipe(
  z.object({
    academy: Academy,
    pricing: Pricing,
    date_range: z.enum(["august", "september", "other"]),
  }),
  z.transform(({ date_range, ...rest }) => ({ ...rest, dateRange: date_range })),
);

export default defineIsland(Props, Calculator);

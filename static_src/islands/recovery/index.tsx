import * as z from "zod/mini";
import { defineIsland } from "../../lib/island";
import { Academy } from "../../schemas/academy";
import { Pricing } from "../../schemas/pricing";
import { Recovery } from "./Recovery";

const Props = z.object({
  order: z.string(),
  token: z.string(),
  pricing: Pricing,
  academy: Academy,
});

export default defineIsland(Props, Recovery);

import * as z from "zod/mini";
import "../payment/buying";
import { defineIsland } from "../../lib/island";
import { Academy } from "../../schemas/academy";
import { Pricing } from "../../schemas/pricing";
import { Recovery } from "./Recovery";

const Props = z.pipe(
  z.object({
    order: z.string(),
    token: z.string(),
    mailed_to: z.string(),
    pricing: Pricing,
    portal_url: z.string(),
    academy: Academy,
  }),
  z.transform(({ portal_url, mailed_to, ...props }) => ({
    ...props,
    portalUrl: portal_url,
    mailedTo: mailed_to,
  })),
);

export default defineIsland(Props, Recovery);

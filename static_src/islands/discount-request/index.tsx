import * as z from "zod/mini";
import { defineIsland } from "../../lib/island";
import { Academy } from "../../schemas/academy";
import { DiscountRequestDialog } from "./DiscountRequestDialog";

export default defineIsland(
  z.object({ academy: Academy, percent: z.number(), days: z.number() }),
  DiscountRequestDialog,
);

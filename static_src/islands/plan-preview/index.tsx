import * as z from "zod/mini";
import { defineIsland } from "../../lib/island";
import { PreviewItem } from "../../schemas/pages";
import { PlanPreview } from "./PlanPreview";

export default defineIsland(
  z.object({ subject: z.string(), semester: z.string(), items: z.array(PreviewItem) }),
  PlanPreview,
);

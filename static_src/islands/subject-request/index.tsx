import * as z from "zod/mini";
import { defineIsland } from "../../lib/island";
import { Academy } from "../../schemas/academy";
import { SubjectRequestDialog } from "./SubjectRequestDialog";

export default defineIsland(
  z.object({ academy: Academy, university: z.optional(z.string()) }),
  SubjectRequestDialog,
);

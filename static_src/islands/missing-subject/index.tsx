import * as z from "zod/mini";
import { defineIsland } from "../../lib/island";
import { Academy } from "../../schemas/academy";
import { MissingSubjectDialog } from "./MissingSubjectDialog";

export default defineIsland(z.object({ academy: Academy }), MissingSubjectDialog);

import * as z from "zod/mini";
import { defineIsland } from "../../lib/island";
import { Academy } from "../../schemas/academy";
import { FreeSubjectModal } from "./FreeSubjectModal";

export default defineIsland(z.object({ academy: Academy }), FreeSubjectModal);

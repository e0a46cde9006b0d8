import * as z from "zod/mini";
import { defineIsland } from "../../lib/island";
import { Academy } from "../../schemas/academy";
import { PreviewContactForm } from "./PreviewContactForm";

export default defineIsland(z.object({ academy: Academy }), PreviewContactForm);

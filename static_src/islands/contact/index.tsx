import * as z from "zod/mini";
import { defineIsland } from "../../lib/island";
import { Academy } from "../../schemas/academy";
import { ContactForm } from "./ContactForm";

export default defineIsland(z.object({ academy: Academy }), ContactForm);

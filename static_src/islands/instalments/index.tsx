import * as z from "zod/mini";
import { defineIsland } from "../../lib/island";
import { Academy } from "../../schemas/academy";
import { Instalments } from "./Instalments";

const Props = z.object({ order: z.string(), token: z.string(), academy: Academy });

export default defineIsland(Props, Instalments);

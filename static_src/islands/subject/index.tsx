import * as z from "zod/mini";
import "../payment/buying";
import { defineIsland } from "../../lib/island";
import { Academy } from "../../schemas/academy";
import { CatalogueSubject } from "../../schemas/catalogue";
import { Pricing } from "../../schemas/pricing";
import { BuySubject } from "./BuySubject";

/** The props from `apps/pages/course_pages.py`. */
const Props = z.object({ subject: CatalogueSubject, pricing: Pricing, academy: Academy });

export default defineIsland(Props, BuySubject);

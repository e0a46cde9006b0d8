import * as z from "zod/mini";
import { toCents } from "../lib/pricing/money";

/** A non-negative amount in euros, parsed to integer cents. */
export const cents = z.pipe(z.number().check(z.nonnegative()), z.transform(toCents));

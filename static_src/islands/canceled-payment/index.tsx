/**
 * The page /cancel, after a return from Stripe's hosted page without a payment. If this tab knows
 * the order, the island reloads the page with the order's link, and the page then offers the saved
 * cart.
 */
import { useEffect } from "react";
import * as z from "zod/mini";
import { defineIsland } from "../../lib/island";
import { cancelUrl } from "../payment/pendingPayment";

function CanceledPayment({ order }: { order: string }) {
  useEffect(() => {
    const url = cancelUrl(order);
    if (url !== "/cancel") window.location.replace(url);
  }, [order]);
  return null;
}

export default defineIsland(z.object({ order: z.string() }), CanceledPayment);

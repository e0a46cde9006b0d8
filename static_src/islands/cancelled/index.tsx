/** Back from Stripe's own page without a payment: the link to the cart, where this tab knows it. */
import { useEffect } from "react";
import * as z from "zod/mini";
import { defineIsland } from "../../lib/island";
import { cancelUrl } from "../payment/pending";

function Cancelled({ order }: { order: string }) {
  useEffect(() => {
    const url = cancelUrl(order);
    if (url !== "/cancel") window.location.replace(url);
  }, [order]);
  return null;
}

export default defineIsland(z.object({ order: z.string() }), Cancelled);

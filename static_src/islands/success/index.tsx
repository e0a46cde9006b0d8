import * as z from "zod/mini";
import { defineIsland } from "../../lib/island";
import { Academy } from "../../schemas/academy";
import { Success } from "./Success";

const Props = z.pipe(
  z.object({
    session_id: z.string(),
    payment_intent_id: z.string(),
    portal_url: z.string(),
    portal_profile_url: z.string(),
    instalment_count: z.number(),
    instalment_every_days: z.number(),
    bought: z.array(z.object({ id: z.number(), name: z.string() })),
    academy: Academy,
  }),
  z.transform((props) => ({
    reference: { sessionId: props.session_id, paymentIntentId: props.payment_intent_id },
    portalUrl: props.portal_url,
    portalProfileUrl: props.portal_profile_url,
    plan: { count: props.instalment_count, everyDays: props.instalment_every_days },
    bought: props.bought,
    academy: props.academy,
  })),
);

export default defineIsland(Props, Success);

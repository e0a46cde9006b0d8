/** The calls of a plan's page, and its words. */
import { ApiError, get, post } from "../../lib/api";
import { formatEuros } from "../../lib/money";
import { CardSaved, CardSetup, Plan, PlanPayment, type PlanRow } from "../../schemas/instalments";

export type Link = { order: string; token: string };
/** What the student has chosen to do. */
export type Action = "next" | "all" | "card";
export type Started = { clientSecret: string; reference: string; cents: number };

export const INVALID_LINK = "El enlace no es válido o ha caducado.";

const day = new Intl.DateTimeFormat("es-ES", { dateStyle: "long", timeZone: "Europe/Madrid" });

export async function loadPlan(link: Link, signal?: AbortSignal): Promise<Plan> {
  if (!/^\d{1,18}$/.test(link.order) || !link.token) throw new Error(INVALID_LINK);
  return get(`/api/instalments?${new URLSearchParams(link)}`, Plan, signal ? { signal } : {});
}

export function start(action: Action, plan: Plan, { order, token }: Link): Promise<Started> {
  const body = { order: Number(order), token };
  return action === "card"
    ? post("/api/instalments/card", body, CardSetup)
    : post(
        "/api/instalments/pay",
        { ...body, what: action, number: nextOf(plan)?.number },
        PlanPayment,
      );
}

const nextOf = (plan: Plan) =>
  plan.rows.find((row) => row.state !== "paid" && row.state !== "canceled");

export function tellCardSaved({ order, token }: Link, setupIntentId: string) {
  const body = { order: Number(order), token, setup_intent_id: setupIntentId };
  return post("/api/instalments/card-saved", body, CardSaved);
}

/** The words beside one instalment. */
export function rowSentence(row: PlanRow, cardWorks: boolean): string {
  switch (row.state) {
    case "paid":
      return row.paidAt ? `Pagado el ${day.format(row.paidAt)}` : "Pagado";
    case "canceled":
      return "No se cobrará";
    case "overdue":
      return `Sin pagar: venció el ${day.format(row.dueOn)}`;
    case "refused":
      return row.chargeOn && cardWorks
        ? `No se pudo cobrar. Lo intentaremos otra vez el ${day.format(row.chargeOn)}`
        : "No se pudo cobrar: págalo tú o cambia de tarjeta";
    case "due":
      if (!cardWorks) return `Vence el ${day.format(row.dueOn)}: págalo tú o cambia de tarjeta`;
      return row.chargeOn
        ? `Se cobrará el ${day.format(row.chargeOn)}`
        : `Vence el ${day.format(row.dueOn)}`;
  }
}

/** Whether there is something for the student to do. */
export function needsAttention(plan: Plan): boolean {
  const stuck = plan.rows.some((row) => row.state === "refused" || row.state === "overdue");
  return stuck || !plan.cardWorks;
}

/** What the plan's state means for the student, above the buttons. */
export function invitation(plan: Plan): string {
  const overdue = plan.rows.filter((row) => row.state === "overdue").length;
  if (overdue > 1) {
    return `Tienes ${overdue} plazos vencidos y tu acceso está en pausa. Lo recuperas en cuanto los pagues.`;
  }
  if (plan.status === "overdue") {
    return "Tienes un plazo vencido y tu acceso está en pausa. Lo recuperas en cuanto lo pagues.";
  }
  if (plan.paused) {
    return "Has reclamado un pago a tu banco. Mientras se aclara no cobramos ningún plazo; si quieres, puedes pagarlos tú.";
  }
  if (!plan.cardWorks) {
    return "Tu tarjeta ya no admite el cobro automático. Paga tú el plazo o pon otra tarjeta.";
  }
  return plan.rows.some((row) => row.state === "refused")
    ? "No hemos podido cobrar un plazo. Págalo ahora o cambia de tarjeta; si no, lo intentaremos otra vez en la fecha que ves."
    : "Cobramos cada plazo en su fecha: no tienes que hacer nada. Si lo prefieres, adelántalo.";
}

/** The buttons' words: what is left may be the next one alone. */
export function payLabels(plan: Plan): { action: "next" | "all"; label: string }[] {
  const next = nextOf(plan);
  if (!next || plan.nextCents === 0) return [];
  const one = {
    action: "next" as const,
    label: `Pagar el plazo ${next.number}: ${formatEuros(plan.nextCents)}`,
  };
  if (plan.restCents === plan.nextCents) return [one];
  const all = {
    action: "all" as const,
    label: `Pagar todo lo que queda: ${formatEuros(plan.restCents)}`,
  };
  return [one, all];
}

export function sentenceOf(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  return "No se pudo preparar el pago. Inténtalo de nuevo.";
}

/** The API calls and the messages of the instalments page. */

import { formatDay } from "../../lib/dates";
import { ApiError, get, post } from "../../lib/http/api";
import { formatEuros } from "../../lib/pricing/money";
import {
  CardSaved,
  CardSetupSecret,
  type Instalment,
  InstalmentPaymentSecret,
  InstalmentPlan,
} from "../../schemas/instalments";

export type Link = { order: string; token: string };
/** What the student can do: pay the next instalment, pay all of them, or change the card. */
export type PlanAction = "next" | "all" | "card";
export type StartedPayment = {
  clientSecret: string;
  reference: string;
  cents: number;
  /** The saved card, with which the payment can be confirmed; null for a change of card. */
  savedCard: string | null;
};

export const INVALID_LINK = "El enlace no es válido o ha caducado.";

export async function loadPlan(link: Link, signal?: AbortSignal): Promise<InstalmentPlan> {
  if (!/^\d{1,18}$/.test(link.order) || !link.token) throw new Error(INVALID_LINK);
  return get(
    `/api/instalments?${new URLSearchParams(link)}`,
    InstalmentPlan,
    signal ? { signal } : {},
  );
}

export function startPayment(
  action: PlanAction,
  plan: InstalmentPlan,
  { order, token }: Link,
): Promise<StartedPayment> {
  const body = { order: Number(order), token };
  return action === "card"
    ? post("/api/instalments/card", body, CardSetupSecret)
    : post(
        "/api/instalments/pay",
        { ...body, what: action, number: nextInstalment(plan)?.number },
        InstalmentPaymentSecret,
      );
}

const nextInstalment = (plan: InstalmentPlan) =>
  plan.instalments.find(
    (instalment) => instalment.state !== "paid" && instalment.state !== "canceled",
  );

export function reportCardSaved({ order, token }: Link, setupIntentId: string) {
  const body = { order: Number(order), token, setup_intent_id: setupIntentId };
  return post("/api/instalments/card-saved", body, CardSaved);
}

/** The message next to an instalment. */
export function instalmentMessage(instalment: Instalment, cardWorks: boolean): string {
  switch (instalment.state) {
    case "paid":
      return instalment.paidAt ? `Pagado el ${formatDay(instalment.paidAt)}` : "Pagado";
    case "canceled":
      return "No se cobrará";
    case "overdue":
      return `Sin pagar: venció el ${formatDay(instalment.dueOn)}`;
    case "refused":
      return instalment.chargeOn && cardWorks
        ? `No se pudo cobrar. Lo intentaremos otra vez el ${formatDay(instalment.chargeOn)}`
        : "No se pudo cobrar: págalo tú o cambia de tarjeta";
    case "due":
      if (!cardWorks)
        return `Vence el ${formatDay(instalment.dueOn)}: págalo tú o cambia de tarjeta`;
      return instalment.chargeOn
        ? `Se cobrará el ${formatDay(instalment.chargeOn)}`
        : `Vence el ${formatDay(instalment.dueOn)}`;
  }
}

/** Whether the student has to do something: a charge failed, or the card cannot be charged. */
export function needsAttention(plan: InstalmentPlan): boolean {
  const stuck = plan.instalments.some(
    (instalment) => instalment.state === "refused" || instalment.state === "overdue",
  );
  return stuck || !plan.cardWorks;
}

/** What the plan's state means for the student. Shown above the buttons. */
export function planMessage(plan: InstalmentPlan): string {
  const overdue = plan.instalments.filter((instalment) => instalment.state === "overdue").length;
  if (overdue > 1) {
    return `Tienes ${overdue} plazos vencidos y tu acceso está en pausa. Lo recuperas en cuanto los pagues.`;
  }
  if (plan.status === "overdue") {
    return "Tienes un plazo vencido y tu acceso está en pausa. Lo recuperas en cuanto lo pagues.";
  }
  if (plan.paused) {
    return "Has reclamado un pago a tu banco. Mientras se aclara no cobramos ningún plazo; si quieres, puedes pagarlos tú.";
  }
  if (plan.cardPays && !plan.cardWorks) {
    return "Tu banco pide que confirmes tú el pago. Paga el plazo o pon otra tarjeta.";
  }
  if (!plan.cardWorks) {
    return "Tu tarjeta ya no admite el cobro automático. Paga tú el plazo o pon otra tarjeta.";
  }
  return plan.instalments.some((instalment) => instalment.state === "refused")
    ? "No hemos podido cobrar un plazo. Págalo ahora o cambia de tarjeta; si no, lo intentaremos otra vez en la fecha que ves."
    : "Cobramos cada plazo en su fecha: no tienes que hacer nada. Si lo prefieres, adelántalo.";
}

/** How the buttons pay with the saved card. */
export function savedCardMessage(plan: InstalmentPlan): string {
  const card = plan.card ?? "tarjeta guardada";
  return plan.cardWorks
    ? `Con un solo toque pagas con tu ${card}.`
    : `Pagas con tu ${card} y lo confirmas con tu banco.`;
}

/** The payment buttons. There is only one if just one instalment is left. */
export function payLabels(plan: InstalmentPlan): { action: "next" | "all"; label: string }[] {
  const next = nextInstalment(plan);
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

export function errorMessage(error: unknown): string {
  if (error instanceof ApiError) return error.message;
  return "No se pudo preparar el pago. Inténtalo de nuevo.";
}

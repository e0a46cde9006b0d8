/** The recovered order as the payment flow takes it, and the words of what may be wrong with its link. */
import { ApiError, get } from "../../lib/api";
import type { CheckoutItem } from "../../lib/cart";
import { formatEuros } from "../../lib/money";
import { type Change, RecoveredOrder } from "../../schemas/payments";
import { contactOf } from "../payment/contact";
import { NEW_PURCHASE, type Purchase } from "../payment/state";

export type Link = { order: string; token: string };

const INVALID_LINK = "Enlace de recuperación inválido";
const INVALID_ID = "ID de orden inválido";
const QUERY_FAILED = "Orden no encontrada o enlace inválido";
const MISSING = "Orden no encontrada";

/** What is wrong with the link itself, or null (shop spec, section 5). */
export function linkProblem({ order, token }: Link): string | null {
  if (!order || !token) return INVALID_LINK;
  return /^\d{1,18}$/.test(order) ? null : INVALID_ID;
}

/** Rejects with an Error whose message is the sentence to show; `cause` is the ApiError. */
export async function loadOrder(link: Link, signal: AbortSignal): Promise<RecoveredOrder> {
  const problem = linkProblem(link);
  if (problem) throw new Error(problem);
  try {
    return await get(`/api/orders/recover?${new URLSearchParams(link)}`, RecoveredOrder, {
      signal,
    });
  } catch (error) {
    throw new Error(problemOf(error), { cause: error });
  }
}

export function problemOf(error: unknown): string {
  if (!(error instanceof ApiError)) return QUERY_FAILED;
  // Nothing there to pay any more, and nothing to tell a stranger about it.
  if (error.code === "already_paid") return MISSING;
  return error.status >= 400 && error.status < 500 ? error.message : QUERY_FAILED;
}

export function purchaseOf(order: RecoveredOrder, { token }: Link): Purchase {
  return {
    ...NEW_PURCHASE,
    step: "summary",
    // Terms and privacy were accepted with the order; the server asks again where they changed.
    contact: { ...contactOf(order.student), termsAccepted: false, privacyAccepted: false },
    paymentType: order.paymentType,
    promo: order.promoCode ? { code: order.promoCode, promo: null } : null,
    quote: order.quote,
    order: { orderId: order.id, token },
  };
}

export function checkoutItemsOf({ items }: RecoveredOrder): CheckoutItem[] {
  const subjects = new Map<number, CheckoutItem>();
  for (const { subjectId, lessonId, priceCents } of items) {
    if (lessonId === null) {
      const subject_price = priceCents / 100;
      subjects.set(subjectId, {
        subject_id: subjectId,
        lesson_ids: [],
        subject_price,
        lesson_prices: [],
      });
      continue;
    }
    const known = subjects.get(subjectId) ?? {
      subject_id: subjectId,
      lesson_ids: [],
      subject_price: null,
      lesson_prices: [],
    };
    known.lesson_ids.push(lessonId);
    known.lesson_prices.push(priceCents / 100);
    subjects.set(subjectId, known);
  }
  return [...subjects.values()];
}

export function changeSentence(change: Change): string {
  switch (change.kind) {
    case "price":
      return `${change.name}: costaba ${formatEuros(change.before)} y ahora cuesta ${formatEuros(change.after)}.`;
    case "expired":
      return `${change.name}: ya no está disponible y no se incluye.`;
    case "quote":
      return change.reason;
    case "instalments":
      return `Ya no se puede pagar a plazos. ${change.reason}`;
    case "promo":
      return `El código ${change.name} ya no se aplica. ${change.reason}`;
    case "discount":
      if (change.before === 0)
        return `${change.name}: ahora descuenta ${formatEuros(change.after)}.`;
      return change.after === 0
        ? `${change.name}: ya no se aplica.`
        : `${change.name}: era de ${formatEuros(change.before)} y ahora es de ${formatEuros(change.after)}.`;
  }
}

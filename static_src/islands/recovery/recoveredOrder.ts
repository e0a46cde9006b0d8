/** Loading a saved order by its recovery link, and converting it for the payment flow. */
import { ApiError, get } from "../../lib/http/api";
import type { CheckoutItem } from "../../lib/pricing/cart";
import { formatEuros } from "../../lib/pricing/money";
import { type Change, RecoveredOrder } from "../../schemas/recovery";
import { contactOf } from "../payment/contact";
import { NEW_PURCHASE, type Purchase } from "../payment/state";

export type Link = { order: string; token: string };

const INVALID_LINK = "Enlace de recuperación inválido";
const INVALID_ID = "ID de orden inválido";
const QUERY_FAILED = "Orden no encontrada o enlace inválido";

/** The error of an incomplete or malformed link, or null. */
export function linkProblem({ order, token }: Link): string | null {
  if (!order || !token) return INVALID_LINK;
  return /^\d{1,18}$/.test(order) ? null : INVALID_ID;
}

/**
 * `wishes` is a query of `wishesOf`. Rejects with an Error whose message is to be shown; `cause` is
 * the ApiError.
 */
export async function loadOrder(
  link: Link,
  signal: AbortSignal,
  wishes = "",
): Promise<RecoveredOrder> {
  const problem = linkProblem(link);
  if (problem) throw new Error(problem);
  try {
    const query = `${new URLSearchParams(link)}${wishes && `&${wishes}`}`;
    return await get(`/api/orders/recover?${query}`, RecoveredOrder, { signal });
  } catch (error) {
    throw new Error(problemOf(error), { cause: error });
  }
}

export function problemOf(error: unknown): string {
  if (!(error instanceof ApiError)) return QUERY_FAILED;
  return error.status >= 400 && error.status < 500 ? error.message : QUERY_FAILED;
}

/** `refusal` is why the last payment was not made, if it has just been refused. */
export function purchaseOf(order: RecoveredOrder, { token }: Link, refusal = ""): Purchase {
  return {
    ...NEW_PURCHASE,
    // Without contact data others may have the link: the buyer types them again.
    step: order.student.email ? "summary" : "contact",
    // The order has the acceptances already. If a text has changed since, the server asks again.
    contact: { ...contactOf(order.student), termsAccepted: false, privacyAccepted: false },
    paymentType: order.paymentType,
    gift: undefined,
    shownGiftEmail: order.gift?.email ?? "",
    promo: order.promoCode ? { code: order.promoCode, promo: null } : null,
    quote: order.quote,
    order: { orderId: order.id, token },
    notice: refusal ? { kind: "problem", text: refusal } : null,
  };
}

/**
 * What the buyer would change in the order, as a query for its price. Only the server knows the
 * discounts of a code and the price of a quote, so it prices every change.
 */
export function wishesOf(
  { paymentType, promo, quote }: Pick<Purchase, "paymentType" | "promo" | "quote">,
  without: number[],
): string {
  const wishes = new URLSearchParams({ payment_type: paymentType, promo_code: promo?.code ?? "" });
  for (const id of without) wishes.append("without", String(id));
  if (quote === null) wishes.append("without_quote", "true");
  return wishes.toString();
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
    const item = subjects.get(subjectId) ?? {
      subject_id: subjectId,
      lesson_ids: [],
      subject_price: null,
      lesson_prices: [],
    };
    item.lesson_ids.push(lessonId);
    item.lesson_prices.push(priceCents / 100);
    subjects.set(subjectId, item);
  }
  return [...subjects.values()];
}

/** The reason for which the order's code or quote does not count, or null. */
export function reasonOf(order: RecoveredOrder, kind: "promo" | "quote"): string | null {
  for (const change of order.changes) if (change.kind === kind) return change.reason;
  return null;
}

/** The message for a difference between the saved order and today. */
export function changeMessage(change: Change): string {
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

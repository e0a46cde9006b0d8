/** Promo codes: what is sent, and what the answer says to the buyer (shop spec, sections 5 and 8). */
import { ApiError } from "../../lib/api";
import type { Toast } from "../../lib/toast";
import type { PromoAnswer } from "../../schemas/payments";
import { INVALID_PROMO, PROMO_CALL_FAILED } from "./refusals";
import type { AppliedPromo } from "./state";

export type PromoVerdict =
  | { kind: "applied"; applied: AppliedPromo; toast: Toast }
  | { kind: "refused"; text: string; toast: Toast };

/** Trimmed and upper case; empty where there is nothing to send. */
export function cleanCode(text: string): string {
  return text.trim().toLocaleUpperCase("es");
}

/** `answer` is the server's, or what the call threw. */
export function promoVerdict(answer: PromoAnswer | unknown): PromoVerdict {
  if (!isAnswer(answer)) {
    // "Too many tries" and the like say how long to wait; anything else is a failed call.
    const why = answer instanceof ApiError && answer.status === 429 ? answer.message : "";
    const toast: Toast = { title: PROMO_CALL_FAILED, tone: "error" };
    return {
      kind: "refused",
      text: why || PROMO_CALL_FAILED,
      toast: why ? { ...toast, text: why } : toast,
    };
  }
  if (!answer.isValid) {
    const text = answer.errorMessage || INVALID_PROMO;
    return { kind: "refused", text, toast: { title: "Código inválido", text, tone: "error" } };
  }
  return {
    kind: "applied",
    applied: { code: answer.code, promo: answer.promo },
    toast: { title: "¡Código aplicado!", tone: "success" },
  };
}

function isAnswer(answer: unknown): answer is PromoAnswer {
  return typeof answer === "object" && answer !== null && "isValid" in answer;
}

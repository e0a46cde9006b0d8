/** Promo codes: the normalised code to send, and the messages for the server's response. */
import { ApiError } from "../../lib/http/api";
import type { Toast } from "../../lib/page/toast";
import type { PromoResponse } from "../../schemas/checkout";
import { INVALID_PROMO, PROMO_CALL_FAILED } from "./refusals";
import type { AppliedPromo } from "./state";

type PromoResult =
  | { kind: "applied"; applied: AppliedPromo; toast: Toast }
  | { kind: "refused"; text: string; toast: Toast };

/** The code trimmed and in upper case; empty if nothing was typed. */
export function cleanCode(text: string): string {
  return text.trim().toLocaleUpperCase("es");
}

/** `response` is the server's response or the error that the call threw. */
export function promoResult(response: PromoResponse | unknown): PromoResult {
  if (!isResponse(response)) {
    // A 429 response says how long to wait. All other errors get the same message.
    const wait = response instanceof ApiError && response.status === 429 ? response.message : "";
    const toast: Toast = { title: PROMO_CALL_FAILED, tone: "error" };
    return {
      kind: "refused",
      text: wait || PROMO_CALL_FAILED,
      toast: wait ? { ...toast, text: wait } : toast,
    };
  }
  if (!response.isValid) {
    const text = response.errorMessage || INVALID_PROMO;
    return { kind: "refused", text, toast: { title: "Código inválido", text, tone: "error" } };
  }
  return {
    kind: "applied",
    applied: { code: response.code, promo: response.promo },
    toast: { title: "¡Código aplicado!", tone: "success" },
  };
}

function isResponse(response: unknown): response is PromoResponse {
  return typeof response === "object" && response !== null && "isValid" in response;
}

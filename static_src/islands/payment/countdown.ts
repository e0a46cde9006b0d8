/** The countdown before the access mail can be sent again. */
import { ApiError } from "../../lib/http/api";
import { ResendResponse } from "../../schemas/checkout";

export const RESEND_ATTEMPTS = 3;

/** 180 → "3:00" */
export function formatCountdown(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Seconds from `now` until `moment` (both in milliseconds), rounded up and never below 0. */
export function secondsUntil(moment: number, now: number): number {
  return Math.max(0, Math.ceil((moment - now) / 1000));
}

/**
 * Wait and attempts left after a failed call: the server's values if the response has them.
 * Otherwise one attempt less and no wait, because no e-mail was sent.
 */
export function waitAfter(error: unknown, attemptsLeft: number): ResendResponse {
  const response = error instanceof ApiError ? ResendResponse.safeParse(error.data) : null;
  return response?.success ? response.data : { secondsLeft: 0, attemptsLeft: attemptsLeft - 1 };
}

/** The server's sentence if the access does not exist yet; empty for every other error. */
export function notReadyMessage(error: unknown): string {
  return error instanceof ApiError && error.code === "access_not_ready" ? error.message : "";
}

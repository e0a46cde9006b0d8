/** The wait between two sends of the verification e-mail (shop spec, sections 4 and 9). */
import { ApiError } from "../../lib/api";
import { ResendAnswer } from "../../schemas/payments";

export const RESEND_ATTEMPTS = 3;

/** 180 → "3:00" */
export function formatCountdown(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

/** Whole seconds until a moment, never below 0; both in milliseconds. */
export function secondsUntil(moment: number, now: number): number {
  return Math.max(0, Math.ceil((moment - now) / 1000));
}

/**
 * How it stands after a send that failed: what the server says with its refusal; without that, one
 * attempt less and no wait, since nothing was sent.
 */
export function waitAfter(error: unknown, attemptsLeft: number): ResendAnswer {
  const told = error instanceof ApiError ? ResendAnswer.safeParse(error.data) : null;
  return told?.success ? told.data : { secondsLeft: 0, attemptsLeft: attemptsLeft - 1 };
}

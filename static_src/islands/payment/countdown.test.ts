import { expect, it } from "vitest";
import { ApiError } from "../../lib/http/api";
import {
  formatCountdown,
  notReadyMessage,
  RESEND_ATTEMPTS,
  secondsUntil,
  waitAfter,
} from "./countdown";

it.each([
  [180, "3:00"],
  [179, "2:59"],
  [60, "1:00"],
  [9, "0:09"],
  [0, "0:00"],
])("shows %i seconds as %s", (seconds, text) => {
  expect(formatCountdown(seconds)).toBe(text);
});

it("rounds the seconds left up and never goes below 0", () => {
  expect(secondsUntil(10_000, 9_001)).toBe(1);
  expect(secondsUntil(10_000, 10_000)).toBe(0);
  expect(secondsUntil(10_000, 99_000)).toBe(0);
});

it("allows 3 attempts", () => {
  expect(RESEND_ATTEMPTS).toBe(3);
});

it("uses the wait and the attempts left of a 429 response", () => {
  const tooSoon = new ApiError(
    429,
    "too_many_requests",
    "Espera.",
    {},
    {
      seconds_left: 95,
      attempts_left: 2,
    },
  );
  expect(waitAfter(tooSoon, 3)).toEqual({ secondsLeft: 95, attemptsLeft: 2 });
});

it("counts a failed call as an attempt, without a wait", () => {
  expect(waitAfter(new ApiError(0, "network", "Sin conexión."), 3)).toEqual({
    secondsLeft: 0,
    attemptsLeft: 2,
  });
});

it("shows the server's sentence only if the access does not exist yet", () => {
  const notReady = new ApiError(409, "access_not_ready", "Todavía estamos preparando tu acceso.");
  expect(notReadyMessage(notReady)).toBe("Todavía estamos preparando tu acceso.");
  expect(notReadyMessage(new ApiError(502, "provider_error", "No se pudo."))).toBe("");
});

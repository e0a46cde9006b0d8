import { expect, it } from "vitest";
import { ApiError } from "../../lib/http/api";
import { PromoResponse } from "../../schemas/checkout";
import { cleanCode, promoResult } from "./promo";

const parsed = (changes: object) =>
  PromoResponse.parse({
    is_valid: true,
    discount_amount: 19,
    discount_type: "PORCENTAJE",
    valor_descuento: 10,
    code: "BIENVENIDA10",
    is_referral_code: false,
    error_message: null,
    ...changes,
  });

it("trims a code and writes it in upper case; a blank code is empty", () => {
  expect(cleanCode("  bienvenida10 ")).toBe("BIENVENIDA10");
  expect(cleanCode("   ")).toBe("");
});

it("applies a valid code, with the percentage in hundredths", () => {
  expect(promoResult(parsed({}))).toEqual({
    kind: "applied",
    applied: {
      code: "BIENVENIDA10",
      promo: { kind: "PORCENTAJE", value: 1000, isFriendCode: false, mostCents: null },
    },
    toast: { title: "¡Código aplicado!", tone: "success" },
  });
});

it("treats every discount type except PORCENTAJE as an amount in euros", () => {
  const result = promoResult(parsed({ discount_type: "FIJO", valor_descuento: 15.5 }));
  expect(result).toMatchObject({ applied: { promo: { kind: "FIJO", value: 1550 } } });
});

it("shows the server's message for an invalid code", () => {
  const text = "Este código promocional ha caducado.";
  expect(promoResult(parsed({ is_valid: false, error_message: text }))).toEqual({
    kind: "refused",
    text,
    toast: { title: "Código inválido", text, tone: "error" },
  });
});

it("shows a general message if the server gives no reason", () => {
  expect(promoResult(parsed({ is_valid: false }))).toMatchObject({
    text: "El código promocional no es válido",
  });
});

it("shows the same message for every failed call", () => {
  const text = "No se pudo validar el código. Inténtalo de nuevo.";
  const toast = { title: text, tone: "error" };
  expect(promoResult(new ApiError(0, "network", "Error de conexión."))).toEqual({
    kind: "refused",
    text,
    toast,
  });
  expect(promoResult(new Error("boom"))).toEqual({ kind: "refused", text, toast });
});

it("shows the server's waiting time after too many attempts", () => {
  const wait = "Demasiados intentos. Vuelve a probar dentro de 9 minutos.";
  expect(promoResult(new ApiError(429, "too_many_requests", wait))).toMatchObject({ text: wait });
});

import { expect, it } from "vitest";
import { ApiError } from "../../lib/api";
import { PromoAnswer } from "../../schemas/payments";
import { cleanCode, promoVerdict } from "./promo";

const parsed = (changes: object) =>
  PromoAnswer.parse({
    is_valid: true,
    discount_amount: 19,
    discount_type: "PORCENTAJE",
    valor_descuento: 10,
    code: "BIENVENIDA10",
    is_referral_code: false,
    error_message: null,
    ...changes,
  });

it("trims a code and writes it in capitals; blanks are nothing", () => {
  expect(cleanCode("  bienvenida10 ")).toBe("BIENVENIDA10");
  expect(cleanCode("   ")).toBe("");
});

it("applies a valid code, percentages in hundredths", () => {
  expect(promoVerdict(parsed({}))).toEqual({
    kind: "applied",
    applied: {
      code: "BIENVENIDA10",
      promo: { kind: "PORCENTAJE", value: 1000, isReferral: false },
    },
    toast: { title: "¡Código aplicado!", tone: "success" },
  });
});

it("reads any other type as euros", () => {
  const verdict = promoVerdict(parsed({ discount_type: "FIJO", valor_descuento: 15.5 }));
  expect(verdict).toMatchObject({ applied: { promo: { kind: "FIJO", value: 1550 } } });
});

it("says what the server says of an invalid code", () => {
  const text = "Este código promocional ha caducado.";
  expect(promoVerdict(parsed({ is_valid: false, error_message: text }))).toEqual({
    kind: "refused",
    text,
    toast: { title: "Código inválido", text, tone: "error" },
  });
});

it("has its own sentence where the server gives no reason", () => {
  expect(promoVerdict(parsed({ is_valid: false }))).toMatchObject({
    text: "El código promocional no es válido",
  });
});

it("says that the call failed, whatever made it fail", () => {
  const text = "No se pudo validar el código. Inténtalo de nuevo.";
  const toast = { title: text, tone: "error" };
  expect(promoVerdict(new ApiError(0, "network", "Error de conexión."))).toEqual({
    kind: "refused",
    text,
    toast,
  });
  expect(promoVerdict(new Error("boom"))).toEqual({ kind: "refused", text, toast });
});

it("passes on how long to wait after too many tries", () => {
  const wait = "Demasiados intentos. Vuelve a probar dentro de 9 minutos.";
  expect(promoVerdict(new ApiError(429, "too_many_requests", wait))).toMatchObject({ text: wait });
});

import { afterEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../../lib/http/api";
import { cardErrorMessage, refusalOf } from "./refusals";

const refused = (status: number, code: string, data = {}, fields = {}) =>
  refusalOf(new ApiError(status, code, "La frase del servidor.", fields, data));

afterEach(() => vi.unstubAllGlobals());

describe("a refused checkout", () => {
  it("has the new total, lines and discounts for price_changed", () => {
    const data = {
      total_amount: 177,
      lines: [{ subject_id: 7, lesson_id: null, name: "Micro", list_price: 240, price: 192 }],
      discounts: [{ name: "Descuento por volumen", amount: 15 }],
    };
    expect(refused(409, "price_changed", data)).toEqual({
      kind: "price_changed",
      priced: {
        totalCents: 17_700,
        quoteNotice: null,
        lines: [
          {
            subjectId: 7,
            lessonId: null,
            name: "Micro",
            listPriceCents: 24_000,
            priceCents: 19_200,
          },
        ],
        discounts: [{ name: "Descuento por volumen", amountCents: 1500 }],
      },
    });
  });

  it("has the items for unavailable", () => {
    const items = [{ subject_id: 7, lesson_id: 31, name: "PEC 3" }];
    expect(refused(409, "unavailable", { items })).toEqual({
      kind: "unavailable",
      items: [{ subjectId: 7, lessonId: 31, name: "PEC 3" }],
    });
  });

  it("has the server's message for a refused promo code and refused instalments", () => {
    const text = "La frase del servidor.";
    expect(refused(409, "promo_refused")).toEqual({ kind: "promo_refused", text });
    expect(refused(400, "instalments_unavailable")).toEqual({ kind: "instalments_refused", text });
  });

  it("has the id of the existing payment for already_paid and payment_in_progress", () => {
    expect(refused(409, "already_paid")).toEqual({ kind: "already_paid", paymentIntentId: null });
    expect(refused(409, "payment_in_progress", { payment_intent_id: "pi_1" })).toEqual({
      kind: "payment_in_progress",
      text: "La frase del servidor.",
      paymentIntentId: "pi_1",
    });
  });

  it("has the seconds to wait while payments are paused", () => {
    const text = "La frase del servidor.";
    const paused = { kind: "paused", seconds: 45, text };
    expect(refused(429, "payments_paused", { seconds_left: 45 })).toEqual(paused);
  });

  it("has the messages of the contact fields among the invalid fields", () => {
    const fields = { phone: ["El teléfono debe tener al menos 9 dígitos"], items: ["No."] };
    expect(refused(400, "invalid", {}, fields)).toEqual({
      kind: "contact",
      errors: { phone: "El teléfono debe tener al menos 9 dígitos" },
    });
  });

  it("drops an order that can't be paid any more", () => {
    expect(refused(404, "not_found")).toEqual({
      kind: "order_gone",
      title: "Error en el pago",
      text: "La frase del servidor.",
    });
  });

  it("says that the payment could not be prepared when Stripe is unavailable", () => {
    expect(refused(502, "provider_error")).toEqual({
      kind: "not_prepared",
      order: null,
      title: "Error",
      text: "No se pudo preparar el pago. Inténtalo de nuevo.",
    });
  });

  it("keeps the order that was created before Stripe turned out to be unavailable", () => {
    const left = { order_id: 12, token: "secreto" };
    expect(refused(502, "provider_error", left)).toMatchObject({
      order: { orderId: 12, token: "secreto" },
    });
  });

  it("shows the server's message and keeps the order when the server did not call Stripe", () => {
    const left = { order_id: 12, token: "secreto" };
    expect(refused(503, "provider_busy", left)).toEqual({
      kind: "not_prepared",
      order: { orderId: 12, token: "secreto" },
      title: "Error",
      text: "La frase del servidor.",
    });
  });

  it.each([
    ["a server error", new ApiError(500, "unexpected", "?")],
    ["a response that does not match its schema", new ApiError(200, "unexpected", "?")],
    ["any other error", new TypeError("undefined is not a function")],
  ])("says that the payment could not be processed after %s", (_, error) => {
    expect(refusalOf(error)).toEqual({
      kind: "problem",
      title: "Error en el pago",
      text: "No se pudo procesar el pago. Inténtalo de nuevo.",
    });
  });

  it.each([
    [
      false,
      "No tienes conexión a internet. No se ha cobrado nada: cuando vuelva, inténtalo otra vez.",
    ],
    [true, "La conexión no responde. No se ha cobrado nada: compruébala e inténtalo otra vez."],
  ])("has its own message without a response (the browser is online: %s)", (onLine, text) => {
    vi.stubGlobal("navigator", { onLine });
    expect(refusalOf(new ApiError(0, "network", "Error de conexión."))).toEqual({
      kind: "problem",
      title: "Error en el pago",
      text,
    });
  });

  it("has the server's message in all other cases, for example too many attempts", () => {
    expect(refused(429, "too_many_requests")).toEqual({
      kind: "problem",
      title: "Error en el pago",
      text: "La frase del servidor.",
    });
  });
});

describe("the message for a declined card", () => {
  it("is chosen by the bank's decline code, or else by Stripe's error code", () => {
    const error = { type: "card_error", code: "card_declined", decline_code: "insufficient_funds" };
    expect(cardErrorMessage(error)).toBe("La tarjeta no tiene saldo suficiente. Prueba con otra.");
    expect(cardErrorMessage({ code: "card_declined", decline_code: "do_not_honor" })).toBe(
      "Tu banco ha rechazado la tarjeta. Prueba con otra o habla con tu banco.",
    );
    expect(cardErrorMessage({ code: "payment_intent_authentication_failure" })).toBe(
      "Tu banco no ha podido confirmar que eres tú. Inténtalo de nuevo o usa otra tarjeta.",
    );
  });

  it("says that the form has expired when the shop has canceled the payment", () => {
    expect(cardErrorMessage({ code: "payment_intent_unexpected_state" })).toBe(
      "El formulario de pago ha caducado: ha pasado mucho tiempo o algo ha cambiado en tu compra. No se ha cobrado nada. Pulsa otra vez «Pagar».",
    );
  });

  it("exists for incomplete card data and for unknown codes", () => {
    expect(cardErrorMessage({ type: "validation_error" })).toBe(
      "Revisa los datos de la tarjeta: falta alguno o no es correcto.",
    );
    expect(cardErrorMessage({ code: "something_new" })).toBe(
      "No se ha podido hacer el pago. Revisa los datos o prueba con otra tarjeta.",
    );
  });
});

it("says that nothing is charged twice when the connection is lost during the payment", () => {
  expect(cardErrorMessage({ type: "api_connection_error" })).toBe(
    "Se ha cortado la conexión mientras se hacía el pago. Compruébala e inténtalo otra vez: no se cobrará dos veces.",
  );
});

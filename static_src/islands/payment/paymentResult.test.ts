import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../../lib/http/api";
import { OrderByPayment } from "../../schemas/orderByPayment";
import { errorMessage, followPayment, type PaymentResult, paymentResult } from "./paymentResult";

const RAW = {
  id: 12,
  reference: "ORD-89abcdef",
  status: "paid",
  created_at: "2026-11-21T10:00:00+01:00",
  total_amount: 177,
  amount_paid: 177,
  items_count: 2,
  account_status: "pending",
  student: { first_name: "", email: "a•••@example.com" },
};
const order = (changes = {}) => OrderByPayment.parse({ ...RAW, ...changes });
const REFERENCE = { sessionId: "", paymentIntentId: "pi_0123456789abcdef" };

describe("the message for an error", () => {
  it.each([
    [
      new ApiError(500, "unexpected", "Invalid API key provided"),
      "Error de configuración: Clave de API inválida. Contacta al administrador.",
    ],
    [
      new ApiError(401, "not_authenticated", "No autorizado."),
      "Error de autenticación. Verifica tu sesión.",
    ],
    [new ApiError(404, "not_found", "Nada."), "Orden no encontrada. Verifica el enlace de pago."],
    [new ApiError(0, "network", "…"), "Error de conexión. Verifica tu conexión a internet."],
    [new ApiError(500, "unexpected", "?"), "Error al procesar la autenticación."],
    [new TypeError("boom"), "Error al procesar la autenticación."],
  ])("of %o is «%s»", (error, message) => {
    expect(errorMessage(error)).toBe(message);
  });
});

describe("the payment result", () => {
  it.each(["paid", "paying", "overdue"])("is paid for an order that is %s", (status) => {
    expect(paymentResult(order({ status }), "accepted")).toMatchObject({
      kind: "paid",
      access: "preparing",
    });
  });

  it("says what was returned, and what is left of the access", () => {
    const refund = { amount: 55, access: "partly" };
    expect(
      paymentResult(order({ status: "partially_refunded", refund }), "accepted"),
    ).toMatchObject({ kind: "refunded", refund: { amountCents: 5500, access: "partly" } });
  });

  it("names what the buyer had before", () => {
    expect(order().boughtTwice).toEqual([]);
    expect(order({ bought_twice: ["Microeconomía"] }).boughtTwice).toEqual(["Microeconomía"]);
  });

  it("says whether the credentials were sent or could not be created", () => {
    expect(paymentResult(order({ account_status: "created" }), "accepted")).toMatchObject({
      kind: "paid",
      access: "sent",
    });
    expect(paymentResult(order({ account_status: "failed" }), "accepted").kind).toBe(
      "access_failed",
    );
  });

  it("is waiting for the bank, under review or not paid for an order that is still a cart", () => {
    const cart = { status: "cart", amount_paid: 0 };
    expect(paymentResult(order(cart), "accepted").kind).toBe("bank_is_confirming");
    expect(paymentResult(order(cart), "not_paid").kind).toBe("not_paid");
    expect(paymentResult(order({ ...cart, amount_paid: 10 }), "not_paid").kind).toBe(
      "under_review",
    );
  });
});

describe("followPayment", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => {
    vi.useRealTimers();
    vi.unstubAllGlobals();
  });

  function serve(
    orders: (object | number)[],
    completion: object = { status: "paid", account_status: "pending" },
  ) {
    const calls: string[] = [];
    vi.stubGlobal("fetch", async (path: string) => {
      calls.push(path);
      const last = orders.length > 1 ? orders.shift() : orders[0];
      const [status, body] = path.startsWith("/api/complete-payment")
        ? ["code" in completion ? 409 : 200, completion]
        : typeof last === "number"
          ? [last, { error: "No.", code: "x", fields: {} }]
          : [200, last];
      if (path.startsWith("/api/complete-payment") && last !== undefined) orders.unshift(last);
      return { ok: status === 200, status, json: async () => body };
    });
    return calls;
  }

  async function collectResults(milliseconds: number) {
    const seen: PaymentResult["kind"][] = [];
    const controller = new AbortController();
    followPayment(REFERENCE, (result) => seen.push(result.kind), controller.signal);
    await vi.advanceTimersByTimeAsync(milliseconds);
    return { seen, controller };
  }

  it("reports the payment to the server at once, and shows a result after 2 s", async () => {
    const calls = serve([{ ...RAW, account_status: "created" }]);
    const { seen } = await collectResults(1999);
    expect(calls).toEqual(["/api/complete-payment"]);
    expect(seen).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(seen).toEqual(["paid"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(calls).toHaveLength(2);
  });

  it("loads the order every 2 s until the access is ready", async () => {
    const calls = serve([RAW, RAW, { ...RAW, account_status: "created" }]);
    const { seen } = await collectResults(6000);
    expect(calls).toHaveLength(4);
    expect(seen).toEqual(["paid", "paid", "paid"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(calls).toHaveLength(4);
  });

  it("stops loading the order after 30 s", async () => {
    const calls = serve([RAW]);
    await collectResults(120_000);
    expect(calls.filter((path) => path.startsWith("/api/orders")).length).toBe(16);
  });

  it("keeps the last result when a later request fails", async () => {
    serve([RAW, 500, { ...RAW, account_status: "created" }]);
    const { seen } = await collectResults(8000);
    expect(seen).toEqual(["paid", "paid"]);
  });

  it("shows an error when the first request fails", async () => {
    serve([404]);
    expect((await collectResults(2000)).seen).toEqual(["error"]);
  });

  it.each(["provider_error", "provider_busy"])(
    "reports the payment again while the server answers %s",
    async (code) => {
      const completion: Record<string, unknown> = { error: "No.", code, fields: {} };
      const calls = serve([{ ...RAW, status: "cart", amount_paid: 0 }], completion);
      const { seen } = await collectResults(5000);
      const completions = () => calls.filter((path) => path.startsWith("/api/complete")).length;
      expect(seen).toEqual(["bank_is_confirming", "bank_is_confirming"]);
      expect(completions()).toBe(2);

      delete completion.code;
      Object.assign(completion, { status: "paid", account_status: "pending" });
      await vi.advanceTimersByTimeAsync(10_000);
      expect(completions()).toBe(7);
    },
  );

  it("says that the bank has declined a payment that it was confirming", async () => {
    const completion: Record<string, unknown> = { status: "processing", account_status: "pending" };
    serve([{ ...RAW, status: "cart", amount_paid: 0 }], completion);
    const { seen } = await collectResults(60_000);
    expect(new Set(seen)).toEqual(new Set(["bank_is_confirming"]));

    Object.assign(completion, { error: "No.", code: "not_confirmed", fields: {} });
    await vi.advanceTimersByTimeAsync(15_000);
    expect(seen.at(-1)).toBe("declined");
    const before = seen.length;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(seen).toHaveLength(before);
  });

  it("stops asking about a bank's decision after 15 minutes", async () => {
    const calls = serve([{ ...RAW, status: "cart", amount_paid: 0 }], { status: "processing" });
    await collectResults(20 * 60_000);
    const before = calls.length;
    await vi.advanceTimersByTimeAsync(20 * 60_000);
    expect(calls).toHaveLength(before);
    expect(calls.filter((path) => path.startsWith("/api/complete")).length).toBeLessThan(120);
  });

  it("says that there is no payment when the server has found none", async () => {
    serve([{ ...RAW, status: "cart", amount_paid: 0 }], {
      error: "El pago todavía no está confirmado.",
      code: "not_confirmed",
    });
    expect((await collectResults(2000)).seen).toEqual(["not_paid"]);
  });

  it("says why Bizum has refused the payment", async () => {
    serve([{ ...RAW, status: "cart", amount_paid: 0 }], {
      error: "El pago todavía no está confirmado.",
      code: "not_confirmed",
      method: "bizum",
      reason: "expired",
    });
    const seen: PaymentResult[] = [];
    followPayment(REFERENCE, (result) => seen.push(result), new AbortController().signal);
    await vi.advanceTimersByTimeAsync(2000);
    expect(seen).toEqual([
      {
        kind: "not_paid",
        refusal:
          "El pago con Bizum ha caducado porque no se aprobó a tiempo. No se ha cobrado nada: inténtalo otra vez o elige otro medio de pago.",
      },
    ]);
  });

  it("reports no result after it was stopped", async () => {
    serve([RAW]);
    const { seen, controller } = await collectResults(1000);
    controller.abort();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(seen).toEqual([]);
  });
});

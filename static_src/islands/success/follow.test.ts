import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ApiError } from "../../lib/api";
import { OrderByPayment } from "../../schemas/payments";
import { type Arrival, arrivalOf, describeError, errorSentence, follow } from "./follow";

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

describe("the sentence for an error", () => {
  it.each([
    [
      "Invalid API key",
      "Error de configuración: Clave de API inválida. Contacta al administrador.",
    ],
    ["401 No autorizado", "Error de autenticación. Verifica tu sesión."],
    ["404 Orden no encontrada", "Orden no encontrada. Verifica el enlace de pago."],
    ["Network", "Error de conexión. Verifica tu conexión a internet."],
    ["", "Error al procesar la autenticación."],
  ])("that says «%s» is «%s»", (message, sentence) => {
    expect(errorSentence(message)).toBe(sentence);
  });

  it("finds no connection and the status of a refusal", () => {
    expect(describeError(new ApiError(0, "network", "…"))).toBe("Network");
    expect(describeError(new ApiError(404, "not_found", "Nada."))).toBe("404 Nada.");
    expect(describeError(new TypeError("boom"))).toBe("");
  });
});

describe("how a payment stands", () => {
  it.each(["paid", "paying", "overdue", "partially_refunded", "refunded"])(
    "is paid for an order that is %s",
    (status) => {
      expect(arrivalOf(order({ status }), "told")).toMatchObject({
        kind: "paid",
        access: "preparing",
      });
    },
  );

  it("tells whether the credentials are out, or could not be made", () => {
    expect(arrivalOf(order({ account_status: "created" }), "told")).toMatchObject({
      kind: "paid",
      access: "sent",
    });
    expect(arrivalOf(order({ account_status: "failed" }), "told").kind).toBe("access_failed");
  });

  it("is with the bank, with staff, or nowhere, for an order that is still a cart", () => {
    const cart = { status: "cart", amount_paid: 0 };
    expect(arrivalOf(order(cart), "told").kind).toBe("bank_is_confirming");
    expect(arrivalOf(order(cart), "refused").kind).toBe("not_paid");
    expect(arrivalOf(order({ ...cart, amount_paid: 10 }), "refused").kind).toBe("under_review");
  });
});

describe("following", () => {
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

  async function arrivals(milliseconds: number) {
    const seen: Arrival["kind"][] = [];
    const controller = new AbortController();
    follow(REFERENCE, (arrival) => seen.push(arrival.kind), controller.signal);
    await vi.advanceTimersByTimeAsync(milliseconds);
    return { seen, controller };
  }

  it("shows nothing for 2 s, and tells the server of the payment meanwhile", async () => {
    const calls = serve([{ ...RAW, account_status: "created" }]);
    const { seen } = await arrivals(1999);
    expect(calls).toEqual(["/api/complete-payment"]);
    expect(seen).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(seen).toEqual(["paid"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(calls).toHaveLength(2);
  });

  it("asks every 2 s until the access is ready", async () => {
    const calls = serve([RAW, RAW, { ...RAW, account_status: "created" }]);
    const { seen } = await arrivals(6000);
    expect(calls).toHaveLength(4);
    expect(seen).toEqual(["paid", "paid", "paid"]);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(calls).toHaveLength(4);
  });

  it("gives up asking after 30 s", async () => {
    const calls = serve([RAW]);
    await arrivals(120_000);
    expect(calls.filter((path) => path.startsWith("/api/orders")).length).toBe(16);
  });

  it("does not fall back to an error when a later read fails", async () => {
    serve([RAW, 500, { ...RAW, account_status: "created" }]);
    const { seen } = await arrivals(8000);
    expect(seen).toEqual(["paid", "paid"]);
  });

  it("shows the error of the first read", async () => {
    serve([404]);
    expect((await arrivals(2000)).seen).toEqual(["error"]);
  });

  it("tells the server again as long as Stripe can't be asked", async () => {
    const completion: Record<string, unknown> = {
      error: "No.",
      code: "provider_error",
      fields: {},
    };
    const calls = serve([{ ...RAW, status: "cart", amount_paid: 0 }], completion);
    const { seen } = await arrivals(5000);
    const completions = () => calls.filter((path) => path.startsWith("/api/complete")).length;
    expect(seen).toEqual(["bank_is_confirming", "bank_is_confirming"]);
    expect(completions()).toBe(2);

    delete completion.code;
    Object.assign(completion, { status: "paid", account_status: "pending" });
    await vi.advanceTimersByTimeAsync(10_000);
    expect(completions()).toBe(3);
  });

  it("knows a payment that came to nothing", async () => {
    serve([{ ...RAW, status: "cart", amount_paid: 0 }], {
      error: "El pago todavía no está confirmado.",
      code: "not_confirmed",
    });
    expect((await arrivals(2000)).seen).toEqual(["not_paid"]);
  });

  it("says nothing more once it is stopped", async () => {
    serve([RAW]);
    const { seen, controller } = await arrivals(1000);
    controller.abort();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(seen).toEqual([]);
  });
});

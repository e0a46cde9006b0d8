import { afterEach, describe, expect, it, vi } from "vitest";
import * as z from "zod/mini";
import { ApiError, get, post } from "./api";

const Answer = z.object({ count: z.number() });
const answering = (status: number, body: string) =>
  vi.stubGlobal(
    "fetch",
    vi.fn(async () => new Response(body, { status })),
  );

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

const failureOf = (promise: Promise<unknown>): Promise<ApiError> =>
  promise.then(
    () => expect.unreachable("was accepted"),
    (error) => error,
  );

describe("an answer", () => {
  it("is parsed where it comes in", async () => {
    answering(200, '{"count": 3, "more": true}');
    expect(await get("/api/x", Answer)).toEqual({ count: 3 });
  });

  it("of another shape is an error, and its details go to the console alone", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
    answering(200, '{"count": "three"}');
    const error = await failureOf(get("/api/x", Answer));
    expect([error.code, error.message]).toEqual([
      "unexpected",
      "El servidor no ha respondido como se esperaba. Inténtalo de nuevo.",
    ]);
    expect(logged).toHaveBeenCalledOnce();
  });
});

describe("a refusal", () => {
  it("carries the server's word, sentence, fields and everything it adds", async () => {
    answering(
      409,
      '{"success": false, "error": "El precio ha cambiado.", "code": "price_changed", "fields": {"total_amount": ["Antes 20 €."]}, "total_amount": 177.5}',
    );
    const error = await failureOf(post("/api/process-checkout", {}, Answer));
    expect(error).toBeInstanceOf(ApiError);
    expect(error.status).toBe(409);
    expect(error.code).toBe("price_changed");
    expect(error.message).toBe("El precio ha cambiado.");
    expect(error.fields).toEqual({ total_amount: ["Antes 20 €."] });
    expect(error.data.total_amount).toBe(177.5);
  });

  it("that is no JSON of ours still has a Spanish sentence", async () => {
    answering(502, "<h1>Bad Gateway</h1>");
    const error = await failureOf(get("/api/x", Answer));
    expect([error.status, error.code]).toEqual([502, "unexpected"]);
    expect(error.message).not.toContain("Gateway");
  });
});

describe("the way there", () => {
  it("sends JSON from the own site", async () => {
    answering(200, '{"count": 1}');
    await post("/api/x", { code: "ÑU" }, Answer);
    expect(fetch).toHaveBeenCalledExactlyOnceWith("/api/x", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: '{"code":"ÑU"}',
      credentials: "same-origin",
    });
  });

  it("says so when there is no connection", async () => {
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
    const error = await failureOf(get("/api/x", Answer));
    expect([error.status, error.code, error.message]).toEqual([
      0,
      "network",
      "Error de conexión. Verifica tu conexión a internet.",
    ]);
  });

  it("does not take an aborted read for a lost connection", async () => {
    const abort = new AbortController();
    vi.stubGlobal("fetch", () => {
      abort.abort();
      return Promise.reject(abort.signal.reason);
    });
    const error: unknown = await failureOf(get("/api/x", Answer, { signal: abort.signal }));
    expect(error).toBe(abort.signal.reason);
  });
});

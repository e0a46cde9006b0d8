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

describe("a successful response", () => {
  it("is parsed with the given schema", async () => {
    answering(200, '{"count": 3, "more": true}');
    expect(await get("/api/x", Answer)).toEqual({ count: 3 });
  });

  it("that does not match the schema is an ApiError whose details are only logged", async () => {
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

describe("an error response", () => {
  it("becomes an ApiError with the server's code, message, field errors and extra data", async () => {
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

  it("that is not the API's JSON still gets a Spanish message", async () => {
    answering(502, "<h1>Bad Gateway</h1>");
    const error = await failureOf(get("/api/x", Answer));
    expect([error.status, error.code]).toEqual([502, "unexpected"]);
    expect(error.message).not.toContain("Gateway");
  });
});

describe("a request", () => {
  it("posts JSON with same-origin credentials", async () => {
    answering(200, '{"count": 1}');
    await post("/api/x", { code: "ÑU" }, Answer);
    expect(fetch).toHaveBeenCalledExactlyOnceWith("/api/x", {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: '{"code":"ÑU"}',
      credentials: "same-origin",
      signal: expect.any(AbortSignal),
    });
  });

  it("that gets no response in time is reported like a lost connection", async () => {
    const timeout = AbortSignal.abort(new DOMException("", "TimeoutError"));
    vi.spyOn(AbortSignal, "timeout").mockReturnValue(timeout);
    vi.stubGlobal("fetch", (_: string, { signal }: RequestInit) => Promise.reject(signal?.reason));
    const error = await failureOf(post("/api/x", {}, Answer));
    expect([error.status, error.code]).toEqual([0, "network"]);
  });

  it("without connection is an ApiError with code network", async () => {
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("Failed to fetch")));
    const error = await failureOf(get("/api/x", Answer));
    expect([error.status, error.code, error.message]).toEqual([
      0,
      "network",
      "Error de conexión. Verifica tu conexión a internet.",
    ]);
  });

  it("that is aborted while the body arrives is no response that does not match", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const abort = new AbortController();
    const body = new ReadableStream({
      pull(controller) {
        abort.abort();
        controller.error(abort.signal.reason);
      },
    });
    vi.stubGlobal("fetch", async () => new Response(body));
    const error: unknown = await failureOf(get("/api/x", Answer, { signal: abort.signal }));
    expect(error).toBe(abort.signal.reason);
    expect(logged).not.toHaveBeenCalled();
  });

  it("whose connection is lost while the body arrives is an ApiError with code network", async () => {
    const body = new ReadableStream({ pull: (to) => to.error(new TypeError("network error")) });
    vi.stubGlobal("fetch", async () => new Response(body));
    expect((await failureOf(get("/api/x", Answer))).code).toBe("network");
  });

  it("that was aborted rejects with the abort reason, not with a network error", async () => {
    const abort = new AbortController();
    vi.stubGlobal("fetch", () => {
      abort.abort();
      return Promise.reject(abort.signal.reason);
    });
    const error: unknown = await failureOf(get("/api/x", Answer, { signal: abort.signal }));
    expect(error).toBe(abort.signal.reason);
  });
});

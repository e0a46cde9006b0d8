/** Calls of the site's own API. Responses are validated here, and every failure is an ApiError. */
import * as z from "zod/mini";

const Failure = z.looseObject({
  error: z.string(),
  code: z.string(),
  fields: z.optional(z.unknown()),
});

// The server itself gives up on Stripe earlier.
const SEND_TIMEOUT_MS = 60_000;

const NO_CONNECTION = "Error de conexión. Verifica tu conexión a internet.";
const UNEXPECTED_RESPONSE = "El servidor no ha respondido como se esperaba. Inténtalo de nuevo.";

/**
 * An error response of the server, or no response at all.
 *
 * `message`: Spanish text to show to the visitor. `code`: the machine-readable error code
 * (`network` without a connection, `unexpected` for a response that is not in the API's format).
 * `fields`: the messages of each form field. `data`: the whole response; some errors carry more
 * data, for example `price_changed` carries the new total.
 */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly fields: Record<string, string[]> = {},
    readonly data: Record<string, unknown> = {},
  ) {
    super(message);
    this.name = "ApiError";
  }
}

export function get<Schema extends z.ZodMiniType>(
  path: string,
  schema: Schema,
  { signal }: { signal?: AbortSignal } = {},
): Promise<z.output<Schema>> {
  return request(path, schema, signal ? { signal } : {});
}

export function post<Schema extends z.ZodMiniType>(
  path: string,
  body: unknown,
  schema: Schema,
): Promise<z.output<Schema>> {
  return request(path, schema, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(SEND_TIMEOUT_MS),
  });
}

/** Post a form that contains a file. The browser sets the multipart content type itself. */
export function postForm<Schema extends z.ZodMiniType>(
  path: string,
  form: FormData,
  schema: Schema,
): Promise<z.output<Schema>> {
  return request(path, schema, { method: "POST", body: form });
}

async function request<Schema extends z.ZodMiniType>(
  path: string,
  schema: Schema,
  init: RequestInit,
): Promise<z.output<Schema>> {
  const notReceived = (error: Error): never => {
    // The caller aborted the request: this is not a lost connection.
    if (init.signal?.aborted && error.name !== "TimeoutError") throw error;
    throw new ApiError(0, "network", NO_CONNECTION);
  };
  const response = await fetch(path, { ...init, credentials: "same-origin" }).catch(notReceived);
  // A request can be aborted, or its connection lost, while the body arrives, too.
  const data: unknown = await response
    .json()
    .catch((error: Error) => (error.name === "SyntaxError" ? null : notReceived(error)));
  if (!response.ok) {
    const failure = z.safeParse(Failure, data);
    if (!failure.success) throw new ApiError(response.status, "unexpected", UNEXPECTED_RESPONSE);
    const { error, code, fields } = failure.data;
    throw new ApiError(response.status, code, error, fieldMessages(fields), failure.data);
  }
  const parsed = z.safeParse(schema, data);
  if (!parsed.success) {
    console.error(`${path}: the response does not match its schema`, parsed.error);
    throw new ApiError(response.status, "unexpected", UNEXPECTED_RESPONSE);
  }
  return parsed.data;
}

/** The messages of each field. `z.record` would do the same but costs 0.5 KB on every page. */
function fieldMessages(fields: unknown): Record<string, string[]> {
  const entries = Object.entries(fields ?? {});
  return Object.fromEntries(entries.filter(([, messages]) => Array.isArray(messages)));
}

/** The site's own API. Every answer is parsed at this edge; every failure is an ApiError. */
import * as z from "zod/mini";

const Failure = z.looseObject({
  error: z.string(),
  code: z.string(),
  fields: z.optional(z.unknown()),
});

const NO_CONNECTION = "Error de conexión. Verifica tu conexión a internet.";
const NOT_UNDERSTOOD = "El servidor no ha respondido como se esperaba. Inténtalo de nuevo.";

/**
 * A refusal of the server, or no answer at all.
 *
 * `message` is a Spanish sentence to show, `code` the machine word (`network` without connection,
 * `unexpected` for an answer that is not ours), `fields` the sentences per field, `data` the whole
 * answer: some refusals carry more, as the fresh total of `price_changed`.
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
  });
}

/** A form with a file: the browser writes the multipart header itself. */
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
  const response = await fetch(path, { ...init, credentials: "same-origin" }).catch((error) => {
    // An aborted read is the caller's own wish, not a lost connection.
    if (init.signal?.aborted) throw error;
    throw new ApiError(0, "network", NO_CONNECTION);
  });
  const data: unknown = await response.json().catch(() => null);
  if (!response.ok) {
    const failure = z.safeParse(Failure, data);
    if (!failure.success) throw new ApiError(response.status, "unexpected", NOT_UNDERSTOOD);
    const { error, code, fields } = failure.data;
    throw new ApiError(response.status, code, error, sentencesOf(fields), failure.data);
  }
  const parsed = z.safeParse(schema, data);
  if (!parsed.success) {
    console.error(`${path} answered in another shape`, parsed.error);
    throw new ApiError(response.status, "unexpected", NOT_UNDERSTOOD);
  }
  return parsed.data;
}

/** The sentences per field; half a kilobyte less on every page than `z.record` would take. */
function sentencesOf(fields: unknown): Record<string, string[]> {
  const entries = Object.entries(fields ?? {});
  return Object.fromEntries(entries.filter(([, sentences]) => Array.isArray(sentences)));
}

/** Loading of API data with a cache of one minute. Focusing the tab does not reload anything. */
import { useEffect, useEffectEvent, useState } from "react";

const FRESH_MS = 60_000;

/** Responses by key. Tests pass another clock as `now`. */
export class ResourceCache<T> {
  private entries = new Map<string, { data: T; at: number }>();

  constructor(private now: () => number = Date.now) {}

  /** The response, if it is less than a minute old. */
  peek(key: string): T | undefined {
    const entry = this.entries.get(key);
    return entry && this.now() - entry.at < FRESH_MS ? entry.data : undefined;
  }

  put(key: string, data: T): void {
    this.entries.set(key, { data, at: this.now() });
  }
}

export type Resource<T> =
  | { status: "loading"; retry: () => void }
  | { status: "ready"; data: T }
  | { status: "failed"; error: unknown; retry: () => void };

type Settled<T> = { key: string; attempt: number } & ({ data: T } | { error: unknown });

/**
 * The response for `key`, from the cache or else from `load`. When the key changes, the pending
 * request is aborted. A loaded response stays until the key changes, even after its minute in the
 * cache. With key null nothing is loaded.
 */
export function useResource<T>(
  cache: ResourceCache<T>,
  key: string | null,
  load: (signal: AbortSignal) => Promise<T>,
): Resource<T> {
  const [settled, setSettled] = useState<Settled<T> | null>(null);
  const [attempt, setAttempt] = useState(0);
  const loadKey = useEffectEvent(load);

  useEffect(() => {
    if (key === null) return;
    const cached = cache.peek(key);
    if (cached !== undefined) {
      setSettled({ key, attempt, data: cached });
      return;
    }
    const abort = new AbortController();
    loadKey(abort.signal).then(
      (data) => {
        cache.put(key, data);
        if (!abort.signal.aborted) setSettled({ key, attempt, data });
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        console.error(error);
        setSettled({ key, attempt, error });
      },
    );
    return () => abort.abort();
  }, [cache, key, attempt]);

  const retry = () => setAttempt(attempt + 1);
  if (key === null) return { status: "loading", retry };
  if (settled?.key === key && settled.attempt === attempt) {
    if ("data" in settled) return { status: "ready", data: settled.data };
    return { status: "failed", error: settled.error, retry };
  }
  const cached = cache.peek(key);
  return cached === undefined ? { status: "loading", retry } : { status: "ready", data: cached };
}

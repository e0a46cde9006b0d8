/** Reads with a short memory: fresh for one minute, never read again because a tab gets the focus. */
import { useEffect, useEffectEvent, useState } from "react";

const FRESH_MS = 60_000;

/** Answers by key. `now` is for tests. */
export class ResourceCache<T> {
  private entries = new Map<string, { data: T; at: number }>();

  constructor(private now: () => number = Date.now) {}

  /** The answer if it is younger than a minute. */
  peek(key: string): T | undefined {
    const entry = this.entries.get(key);
    return entry && this.now() - entry.at < FRESH_MS ? entry.data : undefined;
  }

  put(key: string, data: T): void {
    this.entries.set(key, { data, at: this.now() });
  }
}

export type Resource<T> =
  | { status: "loading" }
  | { status: "ready"; data: T }
  | { status: "failed"; error: unknown; retry: () => void };

type Settled<T> = { key: string; attempt: number } & ({ data: T } | { error: unknown });

/**
 * The answer for `key`, read with `load` where the cache has none. A read that is no longer
 * wanted is aborted; what was read stays shown for as long as the key stays. With key null nothing is read.
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

  if (key === null) return { status: "loading" };
  if (settled?.key === key && settled.attempt === attempt) {
    if ("data" in settled) return { status: "ready", data: settled.data };
    return { status: "failed", error: settled.error, retry: () => setAttempt(attempt + 1) };
  }
  const cached = cache.peek(key);
  return cached === undefined ? { status: "loading" } : { status: "ready", data: cached };
}

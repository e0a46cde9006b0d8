/**
 * A function that calls `run` after `ms` milliseconds without another call. `flush` runs the
 * waiting call at once, `cancel` drops it.
 */
export type Debounced<Args extends unknown[]> = ((...args: Args) => void) & {
  flush(): void;
  cancel(): void;
};

export function debounce<Args extends unknown[]>(
  run: (...args: Args) => void,
  ms: number,
): Debounced<Args> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waiting: Args | null = null;
  const cancel = () => {
    clearTimeout(timer);
    waiting = null;
  };
  const flush = () => {
    const args = waiting;
    cancel();
    if (args) run(...args);
  };
  const later = (...args: Args) => {
    clearTimeout(timer);
    waiting = args;
    timer = setTimeout(flush, ms);
  };
  return Object.assign(later, { flush, cancel });
}

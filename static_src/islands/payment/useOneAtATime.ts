import { useRef } from "react";

/**
 * A function that runs one asynchronous action at a time and ignores calls while one is running.
 * React state is not enough for this: it changes only with the next render, and a second click may
 * come before that.
 */
export function useOneAtATime(): (action: () => Promise<void>) => Promise<void> {
  const running = useRef(false);
  return async (action) => {
    if (running.current) return;
    running.current = true;
    try {
      await action();
    } finally {
      running.current = false;
    }
  };
}

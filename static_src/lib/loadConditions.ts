/** The load conditions of islands: when the loader imports an island's code. */

export type LoadCondition =
  | "load"
  | "idle"
  | "visible"
  | "interaction"
  | "click"
  | `delay:${number}`;

/** Call `start` once, when the element meets the condition. */
export function when(condition: LoadCondition, element: HTMLElement, start: () => void): void {
  if (condition === "idle") whenIdle(start);
  else if (condition === "visible") whenVisible(element, start);
  else if (condition === "interaction") onInteraction(element, start);
  else if (condition === "click") onClick(element, start);
  else if (condition === "load") start();
  else setTimeout(start, Number(condition.slice("delay:".length)));
}

function whenIdle(start: () => void): void {
  // Safari has no requestIdleCallback.
  if ("requestIdleCallback" in window) window.requestIdleCallback(start, { timeout: 2000 });
  else setTimeout(start, 200);
}

function whenVisible(element: HTMLElement, start: () => void): void {
  const observer = new IntersectionObserver(
    (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      observer.disconnect();
      start();
    },
    { rootMargin: "200px" },
  );
  observer.observe(element);
}

function onInteraction(element: HTMLElement, start: () => void): void {
  const events = ["pointerenter", "pointerdown", "focusin"];
  const begin = () => {
    for (const event of events) element.removeEventListener(event, begin);
    start();
  };
  for (const event of events) element.addEventListener(event, begin, { passive: true });
}

/**
 * The first click starts the island. The element may contain a link that serves visitors without
 * JavaScript; the click must not follow it.
 */
function onClick(element: HTMLElement, start: () => void): void {
  element.addEventListener(
    "click",
    (event) => {
      event.preventDefault();
      start();
    },
    { once: true },
  );
}

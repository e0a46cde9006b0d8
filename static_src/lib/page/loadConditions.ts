/** The load conditions of islands: when the loader imports an island's code. */

export type LoadCondition = "load" | "visible" | "interaction" | "click";

/** Call `start` once, when the element meets the condition. */
export function when(condition: LoadCondition, element: HTMLElement, start: () => void): void {
  if (condition === "visible") whenVisible(element, start);
  else if (condition === "interaction") onInteraction(element, start);
  else if (condition === "click") onClick(element, start);
  else start();
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

/** The first touch, pointing, focus or press starts the island. */
function onInteraction(element: HTMLElement, start: () => void): void {
  const events = ["pointerenter", "pointerdown", "focusin", "submit"];
  const begin = () => {
    if (!started) start();
    started = true;
  };
  let started = false;
  for (const event of events) element.addEventListener(event, begin);
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

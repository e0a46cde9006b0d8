/**
 * Tooltips of elements with `data-tooltip`. They open after 700 ms, or at once if another tooltip
 * closed less than 300 ms ago. With an empty attribute the tooltip shows the element's own text, if
 * that is cut off.
 *
 * The page already has each tooltip's text, as an accessible name or as visible text, so tooltips
 * are hidden from screen readers.
 */

const OPEN_DELAY_MS = 700;
const SKIP_DELAY_MS = 300;

const SELECTOR = "[data-tooltip]";
let tooltip: HTMLElement | undefined;
let trigger: HTMLElement | undefined;
let timer = 0;
let closedAt = Number.NEGATIVE_INFINITY;

/** Start the tooltips. `first` had the pointer or the focus when this code was asked for. */
export function startTooltips(first: Element): void {
  // A finger opens none: it would lie over what the press has opened.
  addEventListener("pointerover", ({ target, pointerType }) => {
    if (pointerType !== "touch") enter(target as Element);
  });
  addEventListener("focusin", ({ target }) => {
    if ((target as Element).matches(":focus-visible")) enter(target as Element);
  });
  addEventListener("focusout", close);
  addEventListener("pointerdown", close);
  addEventListener("scroll", close, { capture: true, passive: true });
  addEventListener("keydown", ({ key }) => {
    if (key === "Escape") close();
  });
  // The visitor may have left the element while this code was loading.
  if (first.matches(":focus-visible") || (first.matches(":hover") && matchMedia("(hover)").matches))
    enter(first);
}

function enter(target: Element): void {
  // Keep the tooltip open while the pointer is on the tooltip itself.
  if (tooltip?.contains(target)) return;
  const next = target.closest<HTMLElement>(SELECTOR) ?? undefined;
  if (next === trigger) return;
  close();
  trigger = next;
  if (!next || !textOf(next)) return;
  const wait = performance.now() - closedAt < SKIP_DELAY_MS ? 0 : OPEN_DELAY_MS;
  timer = window.setTimeout(() => open(next), wait);
}

function textOf(element: HTMLElement): string {
  if (element.dataset.tooltip) return element.dataset.tooltip;
  return element.scrollWidth > element.clientWidth ? (element.textContent ?? "") : "";
}

function open(element: HTMLElement): void {
  // The element may have been removed when it was pressed, like the close button of a toast.
  // Browsers fire no focusout event for a removed element.
  if (!element.isConnected) return;
  tooltip = document.createElement("div");
  tooltip.className = "tooltip";
  tooltip.setAttribute("aria-hidden", "true");
  tooltip.textContent = textOf(element);
  document.body.append(tooltip);
  const box = element.getBoundingClientRect();
  const { width, height } = tooltip.getBoundingClientRect();
  const middle = box.left + box.width / 2 - width / 2;
  const left = Math.max(8, Math.min(middle, document.documentElement.clientWidth - width - 8));
  const top = box.bottom + height > window.innerHeight ? box.top - height : box.bottom;
  tooltip.style.transform = `translate(${Math.round(left)}px, ${Math.round(top)}px)`;
}

function close(): void {
  window.clearTimeout(timer);
  trigger = undefined;
  if (!tooltip) return;
  tooltip.remove();
  tooltip = undefined;
  closedAt = performance.now();
}

/**
 * Tooltips of `[data-tooltip]`: after 700 ms, at once where another was shown up to 300 ms ago (site
 * spec, section 9). An empty attribute stands for text that is cut off, and shows it whole.
 *
 * What a tooltip says is in the page already, as a name or as the text itself; so it is hidden from
 * screen readers.
 */

const OPEN_DELAY_MS = 700;
const SKIP_DELAY_MS = 300;

const SELECTOR = "[data-tooltip]";
let tooltip: HTMLElement | undefined;
let trigger: HTMLElement | undefined;
let timer = 0;
let closedAt = Number.NEGATIVE_INFINITY;

/** Begin to watch the page; `first` is what the pointer or the focus has already reached. */
export function startTooltips(first: Element): void {
  const onEnter = ({ target }: Event) => reach(target as Element);
  addEventListener("pointerover", onEnter);
  addEventListener("focusin", onEnter);
  addEventListener("focusout", close);
  addEventListener("pointerdown", close);
  addEventListener("scroll", close, { capture: true, passive: true });
  addEventListener("keydown", ({ key }) => {
    if (key === "Escape") close();
  });
  reach(first);
}

function reach(target: Element): void {
  // The tooltip itself may be pointed at: it stays.
  if (tooltip?.contains(target)) return;
  const next = target.closest<HTMLElement>(SELECTOR) ?? undefined;
  if (next === trigger) return;
  close();
  trigger = next;
  if (!next || !words(next)) return;
  const wait = performance.now() - closedAt < SKIP_DELAY_MS ? 0 : OPEN_DELAY_MS;
  timer = window.setTimeout(() => open(next), wait);
}

function words(element: HTMLElement): string {
  if (element.dataset.tooltip) return element.dataset.tooltip;
  return element.scrollWidth > element.clientWidth ? (element.textContent ?? "") : "";
}

function open(element: HTMLElement): void {
  // Pressed and gone, as a toast's cross: browsers do not say that the focus has left it.
  if (!element.isConnected) return;
  tooltip = document.createElement("div");
  tooltip.className = "tooltip";
  tooltip.setAttribute("aria-hidden", "true");
  tooltip.textContent = words(element);
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

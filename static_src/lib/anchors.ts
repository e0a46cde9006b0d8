/**
 * Where a page that was opened with a #target scrolls, and when (site spec, section 2, "Routes";
 * decisions.md, "Pages"). Clicks within a page and going back are the browser's own business.
 */

const AFTER_NAVIGATION_MS = 300;
const ON_ENTRY_MS = 200;
// What the links of other pages lead to.
const LINKED_FROM_AFAR = /^#(contacto|presupuesto|calculadora|descuentos)$/;

/** How long to wait before scrolling to `hash`; `isFollowed`: it was a link of another page. */
export function scrollDelay(hash: string, isFollowed: boolean): number {
  return isFollowed && LINKED_FROM_AFAR.test(hash) ? AFTER_NAVIGATION_MS : ON_ENTRY_MS;
}

export function startAnchors(): void {
  const { hash, origin } = location;
  const target = hash && document.getElementById(hash.slice(1));
  const [navigation] = performance.getEntriesByType("navigation");
  if (!target || (navigation as PerformanceNavigationTiming).type !== "navigate") return;
  // Without motion the browser's own jump is just right.
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;

  // The browser jumps now or once everything has loaded: either way back to the top first.
  const toTop = () => scrollTo({ top: 0, behavior: "instant" });
  toTop();
  addEventListener("load", () => {
    toTop();
    setTimeout(
      () => target.scrollIntoView({ behavior: "smooth" }),
      scrollDelay(hash, document.referrer.startsWith(origin)),
    );
  });
}

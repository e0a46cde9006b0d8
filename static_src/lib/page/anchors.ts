/**
 * Smooth scrolling to the #target that a page was opened with. The browser itself handles clicks on
 * links within the page and the back button.
 */

const AFTER_NAVIGATION_MS = 300;
const ON_ENTRY_MS = 200;
// Targets that the site's other pages link to.
const LINKED_FROM_OTHER_PAGES = /^#(contacto|presupuesto|calculadora|descuentos)$/;

/**
 * Milliseconds to wait before scrolling to `hash`. `isFollowed` says whether the visitor followed a
 * link of another page of the site.
 */
export function scrollDelay(hash: string, isFollowed: boolean): number {
  return isFollowed && LINKED_FROM_OTHER_PAGES.test(hash) ? AFTER_NAVIGATION_MS : ON_ENTRY_MS;
}

export function startAnchors(): void {
  const { hash, origin } = location;
  const target = hash && document.getElementById(hash.slice(1));
  const [navigation] = performance.getEntriesByType("navigation");
  if (!target || (navigation as PerformanceNavigationTiming).type !== "navigate") return;
  // With reduced motion the browser's own jump to the target is what the visitor wants.
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;

  // The browser jumps to the target now or at some moment after loading. Each jump is undone, so it
  // must not be a smooth one that is still under way.
  const { style } = document.documentElement;
  const toTop = () => scrollTo({ top: 0, behavior: "instant" });
  style.scrollBehavior = "auto";
  toTop();
  addEventListener("load", () => {
    toTop();
    window.onscroll = toTop;
    setTimeout(
      () => {
        window.onscroll = null;
        // A busy page has not heard yet of a jump since its last frame.
        toTop();
        style.scrollBehavior = "";
        target.scrollIntoView({ behavior: "smooth" });
      },
      scrollDelay(hash, document.referrer.startsWith(origin)),
    );
  });
}

/**
 * Marks elements when the visitor has scrolled past another element. An element with
 * `data-after="#video"` gets the attribute `data-past` while #video is above the visible area. The
 * style sheet decides what the attribute changes.
 */

// The height of the fixed header and a small margin below it.
const HEADER_PX = 100;
const FAR_PX = 1e6;

export function startScrolledPast(): void {
  for (const element of document.querySelectorAll<HTMLElement>("[data-after]")) {
    const watched = document.querySelector(element.dataset.after as string);
    if (!watched) continue;
    new IntersectionObserver(
      (entries) => element.toggleAttribute("data-past", !entries.at(-1)?.isIntersecting),
      // Everything below the header counts as visible, also what is far below the screen. So a jump
      // over the watched element is noticed, too.
      { rootMargin: `-${HEADER_PX}px 0px ${FAR_PX}px` },
    ).observe(watched);
  }
}

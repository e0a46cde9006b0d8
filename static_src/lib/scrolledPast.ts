/**
 * Marks elements when the visitor has scrolled past another element. An element with
 * `data-after="#video"` gets the attribute `data-past` while #video is above the visible area. The
 * style sheet decides what the attribute changes.
 */

// The height of the fixed header and a small margin below it.
const HEADER_PX = 100;

export function startScrolledPast(): void {
  for (const element of document.querySelectorAll<HTMLElement>("[data-after]")) {
    const watched = document.querySelector(element.dataset.after as string);
    if (!watched) continue;
    new IntersectionObserver(
      (entries) => {
        const { isIntersecting, boundingClientRect } = entries[
          entries.length - 1
        ] as IntersectionObserverEntry;
        element.toggleAttribute("data-past", !isIntersecting && boundingClientRect.top < 0);
      },
      { rootMargin: `-${HEADER_PX}px 0px 0px` },
    ).observe(watched);
  }
}

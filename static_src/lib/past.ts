/**
 * Elements that change once another has left the view upwards: `data-after="#video"` gets
 * `data-past` as long as #video is above what the header leaves. What that means is said in CSS.
 */

const HEADER_PX = 100; // and a little of the page below it

export function startPast(): void {
  for (const element of document.querySelectorAll<HTMLElement>("[data-after]")) {
    const other = document.querySelector(element.dataset.after as string);
    if (!other) continue;
    new IntersectionObserver(
      (entries) => {
        const { isIntersecting, boundingClientRect } = entries[
          entries.length - 1
        ] as IntersectionObserverEntry;
        element.toggleAttribute("data-past", !isIntersecting && boundingClientRect.top < 0);
      },
      { rootMargin: `-${HEADER_PX}px 0px 0px` },
    ).observe(other);
  }
}

/**
 * The testimonials carousel: adds buttons and arrow keys to a scrolling list.
 * The browser itself handles swiping and snapping.
 */
import { nextSlide, slideAt } from "./slides";

export default function startCarousel(element: HTMLElement): void {
  const track = element.querySelector<HTMLElement>(".carousel__track");
  const controls = element.querySelector<HTMLElement>(".carousel__controls");
  const first = track?.firstElementChild as HTMLElement | null;
  if (!track || !first || !controls) return;

  const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

  const geometry = () => ({
    count: track.children.length,
    // The width of a slide with its gap.
    step: (track.scrollWidth + gap(track)) / track.children.length,
    width: track.clientWidth,
    position: track.scrollLeft,
  });
  const go = (by: 1 | -1) => {
    const now = geometry();
    const left = nextSlide(slideAt(now), by, now) * now.step;
    track.scrollTo({ left, behavior: reducedMotion.matches ? "instant" : "smooth" });
  };

  element.addEventListener("click", ({ target }) => {
    const action = (target as Element).closest<HTMLElement>("[data-carousel]")?.dataset.carousel;
    if (action === "next") go(1);
    if (action === "previous") go(-1);
  });
  element.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    event.preventDefault();
    go(event.key === "ArrowRight" ? 1 : -1);
  });

  controls.hidden = false;
  element.dataset.mounted = "";
}

function gap(track: HTMLElement): number {
  return Number.parseFloat(getComputedStyle(track).columnGap) || 0;
}

/**
 * The testimonials carousel: adds buttons, arrow keys and automatic movement to a scrolling list.
 * The browser itself handles swiping and snapping.
 */
import { nextSlide, slideAt } from "./slides";

const MOVES_EVERY_MS = 6000;

export default function startCarousel(element: HTMLElement): void {
  const track = element.querySelector<HTMLElement>(".carousel__track");
  const controls = element.querySelector<HTMLElement>(".carousel__controls");
  const pause = element.querySelector<HTMLElement>("[data-carousel=pause]");
  const first = track?.firstElementChild as HTMLElement | null;
  if (!track || !first || !controls || !pause) return;

  const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");
  let isPaused = reducedMotion.matches;

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
    if (action === "pause") {
      isPaused = !isPaused;
      showPause();
    }
  });
  element.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowRight" && event.key !== "ArrowLeft") return;
    event.preventDefault();
    go(event.key === "ArrowRight" ? 1 : -1);
  });

  const showPause = () => pause.setAttribute("aria-pressed", String(isPaused));
  showPause();
  // With reduced motion the carousel does not move by itself, so there is nothing to pause.
  pause.hidden = reducedMotion.matches;
  controls.hidden = false;
  element.dataset.mounted = "";

  // Do not move while the pointer or the focus is on the carousel, or while the tab is hidden.
  window.setInterval(() => {
    const isRead = element.matches(":hover, :focus-within") || document.hidden;
    if (!isPaused && !isRead) go(1);
  }, MOVES_EVERY_MS);
}

function gap(track: HTMLElement): number {
  return Number.parseFloat(getComputedStyle(track).columnGap) || 0;
}

/**
 * The carousel of the testimonials: gives the scrolling list of the page buttons, arrow keys and a
 * slow walk of its own. The list is the browser's: swiping and snapping need no code.
 */
import { following, slideAt } from "./slides";

const WALKS_EVERY_MS = 6000;

export default function startCarousel(element: HTMLElement): void {
  const track = element.querySelector<HTMLElement>(".carousel__track");
  const controls = element.querySelector<HTMLElement>(".carousel__controls");
  const pause = element.querySelector<HTMLElement>("[data-carousel=pause]");
  const first = track?.firstElementChild as HTMLElement | null;
  if (!track || !first || !controls || !pause) return;

  const prefersStill = matchMedia("(prefers-reduced-motion: reduce)");
  const isStill = () => prefersStill.matches;
  let isPaused = isStill();

  const geometry = () => ({
    count: track.children.length,
    // With the gap: what one slide moves the list by.
    step: (track.scrollWidth + gap(track)) / track.children.length,
    width: track.clientWidth,
    position: track.scrollLeft,
  });
  const go = (by: 1 | -1) => {
    const now = geometry();
    const left = following(slideAt(now), by, now) * now.step;
    track.scrollTo({ left, behavior: isStill() ? "instant" : "smooth" });
  };

  element.addEventListener("click", ({ target }) => {
    const wish = (target as Element).closest<HTMLElement>("[data-carousel]")?.dataset.carousel;
    if (wish === "next") go(1);
    if (wish === "previous") go(-1);
    if (wish === "pause") {
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
  // Where nothing moves by itself there is nothing to stop.
  pause.hidden = isStill();
  controls.hidden = false;
  element.dataset.mounted = "";

  // It stands still while somebody reads with the pointer or the focus on it, or looks elsewhere.
  window.setInterval(() => {
    const isRead = element.matches(":hover, :focus-within") || document.hidden;
    if (!isPaused && !isRead) go(1);
  }, WALKS_EVERY_MS);
}

function gap(track: HTMLElement): number {
  return Number.parseFloat(getComputedStyle(track).columnGap) || 0;
}

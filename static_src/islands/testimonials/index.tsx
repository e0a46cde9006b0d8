/**
 * The testimonials carousel: adds buttons and arrow keys to a scrolling list.
 * The browser itself handles swiping and snapping. Where one slide is shown at a time, there are no
 * buttons: copies of the first and the last slide at the other end make a swipe loop, too.
 */
import { nextSlide, slideAt } from "./slides";

export default function startCarousel(element: HTMLElement): void {
  const track = element.querySelector<HTMLElement>(".carousel__track");
  const controls = element.querySelector<HTMLElement>(".carousel__controls");
  const first = track?.firstElementChild as HTMLElement | null;
  if (!track || !first || !controls) return;

  const reducedMotion = matchMedia("(prefers-reduced-motion: reduce)");

  const geometry = () => {
    const copies = track.querySelectorAll("[data-copy]").length;
    // The width of a slide with its gap.
    const step = (track.scrollWidth + gap(track)) / track.children.length;
    return {
      count: track.children.length - copies,
      step,
      width: track.clientWidth,
      // One of two copies stands before the first slide.
      start: copies > 0 ? step : 0,
      position: track.scrollLeft - (copies > 0 ? step : 0),
    };
  };
  const show = (slide: number, behavior: ScrollBehavior) => {
    const { start, step } = geometry();
    track.scrollTo({ left: start + slide * step, behavior });
  };
  const go = (by: 1 | -1) => {
    const now = geometry();
    show(nextSlide(slideAt(now), by, now), reducedMotion.matches ? "instant" : "smooth");
  };

  const oneSlide = matchMedia("(width < 48rem)");
  const addCopies = () => {
    const slide = slideAt(geometry());
    for (const copy of track.querySelectorAll("[data-copy]")) copy.remove();
    const slides = [...track.children];
    if (oneSlide.matches && slides.length > 1) {
      track.prepend(copyOf(slides.at(-1) as Element));
      track.append(copyOf(slides[0] as Element));
    }
    show(slide, "instant");
  };
  addCopies();
  oneSlide.addEventListener("change", addCopies);
  track.addEventListener("scrollend", () => {
    const now = geometry();
    const slide = slideAt(now);
    if (slide < 0) show(now.count - 1, "instant");
    if (slide >= now.count) show(0, "instant");
  });

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

function copyOf(slide: Element): Element {
  const copy = slide.cloneNode(true) as HTMLElement;
  copy.dataset.copy = "";
  copy.inert = true;
  return copy;
}

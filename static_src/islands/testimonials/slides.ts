/** The current and the next slide of a scrolling list. Lengths are in CSS pixels. */

type Geometry = { count: number; step: number; width: number; position: number };

export function slideAt({ position, step }: Geometry): number {
  return Math.round(position / step);
}

/** The slide to go to. After the last slide that fits at the left edge comes the first: a loop. */
export function nextSlide(slide: number, by: 1 | -1, { count, step, width }: Geometry): number {
  const inView = Math.max(1, Math.round(width / step));
  const stops = Math.max(1, count - inView + 1);
  return (slide + by + stops) % stops;
}

/** Which slide a scrolling list shows, and which comes next. Lengths in CSS pixels. */

export type Geometry = { count: number; step: number; width: number; position: number };

export function slideAt({ position, step }: Geometry): number {
  return Math.round(position / step);
}

/** The slide to go to; behind the last that can stand first comes the first one again, a loop. */
export function following(slide: number, by: 1 | -1, { count, step, width }: Geometry): number {
  const inView = Math.max(1, Math.round(width / step));
  const stops = Math.max(1, count - inView + 1);
  return (slide + by + stops) % stops;
}

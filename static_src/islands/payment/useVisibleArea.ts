import { type CSSProperties, useEffect, useState } from "react";

type VisibleArea = { style: CSSProperties; "data-keyboard": "" | undefined };

// An on-screen keyboard covers more than this share of the window's height; an address bar covers
// less.
const KEYBOARD_SHARE = 0.25;

/**
 * The part of the window that the on-screen keyboard does not cover, as the custom properties
 * `--visible-top` and `--visible-height`. The keyboard affects neither the unit dvh nor fixed
 * positions.
 */
export function useVisibleArea(active: boolean): VisibleArea {
  const [area, setArea] = useState<VisibleArea>({ style: {}, "data-keyboard": undefined });
  useEffect(() => {
    const viewport = window.visualViewport;
    if (!active || !viewport) return;
    const measure = () => {
      // The visitor has zoomed in: the visual viewport is not limited by the keyboard.
      if (viewport.scale > 1.01) return;
      const covered = viewport.height < window.innerHeight * (1 - KEYBOARD_SHARE);
      setArea({
        style: {
          "--visible-top": `${viewport.offsetTop}px`,
          "--visible-height": `${viewport.height}px`,
        } as CSSProperties,
        "data-keyboard": covered ? "" : undefined,
      });
    };
    measure();
    viewport.addEventListener("resize", measure);
    viewport.addEventListener("scroll", measure);
    return () => {
      viewport.removeEventListener("resize", measure);
      viewport.removeEventListener("scroll", measure);
    };
  }, [active]);
  const covered = area["data-keyboard"];
  useEffect(() => {
    // The keyboard may cover the focused field: scroll it into view.
    if (covered !== undefined) document.activeElement?.scrollIntoView({ block: "center" });
  }, [covered]);
  return area;
}

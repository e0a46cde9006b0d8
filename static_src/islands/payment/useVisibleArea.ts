import { type CSSProperties, useEffect, useState } from "react";

type VisibleArea = { style: CSSProperties; "data-keyboard": "" | undefined };

// A keyboard takes more than this of the window's height; address bars that come and go take less.
const KEYBOARD_SHARE = 0.25;

/**
 * The part of the screen that the phone's keyboard leaves free, as the custom properties
 * `--visible-top` and `--visible-height`. Neither dvh nor fixed positions know of the keyboard.
 */
export function useVisibleArea(active: boolean): VisibleArea {
  const [area, setArea] = useState<VisibleArea>({ style: {}, "data-keyboard": undefined });
  useEffect(() => {
    const viewport = window.visualViewport;
    if (!active || !viewport) return;
    const measure = () => {
      // Zoomed in with two fingers, the visible part is the visitor's own choice.
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
    // What is being typed into may have ended up below the edge that has just moved up.
    if (covered !== undefined) document.activeElement?.scrollIntoView({ block: "center" });
  }, [covered]);
  return area;
}

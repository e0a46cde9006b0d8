import { type CSSProperties, useEffect, useState } from "react";

/**
 * The part of the screen that the phone's keyboard leaves free, as the custom properties
 * `--visible-top` and `--visible-height`. Neither dvh nor fixed positions know of the keyboard.
 */
export function useVisibleArea(active: boolean): CSSProperties {
  const [area, setArea] = useState<CSSProperties>({});
  useEffect(() => {
    const viewport = window.visualViewport;
    if (!active || !viewport) return;
    const measure = () => {
      // Zoomed in with two fingers, the visible part is the visitor's own choice.
      if (viewport.scale > 1.01) return;
      setArea({
        "--visible-top": `${viewport.offsetTop}px`,
        "--visible-height": `${viewport.height}px`,
      } as CSSProperties);
    };
    measure();
    viewport.addEventListener("resize", measure);
    viewport.addEventListener("scroll", measure);
    return () => {
      viewport.removeEventListener("resize", measure);
      viewport.removeEventListener("scroll", measure);
    };
  }, [active]);
  return area;
}

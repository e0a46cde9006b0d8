import { useEffect, useEffectEvent, useState } from "react";
import { type CatalogueQuery, formatQuery, parseQuery } from "./query";

/** A step of its own in the browser's history, or a correction of the present one. */
export type HistoryStep = "push" | "replace";

/** The query as state and address at once: links, back and forward bring the same view again. */
export function useCatalogueQuery(
  initial: CatalogueQuery,
  openUniversityIds: number[],
): [CatalogueQuery, (change: Partial<CatalogueQuery>, step?: HistoryStep) => void] {
  const [query, setQuery] = useState(initial);

  // A link to something that is no longer there opens what is: the address says so.
  const correctAddress = useEffectEvent(() => change({}, "replace"));
  useEffect(() => correctAddress(), []);

  const onPopState = useEffectEvent(() => {
    setQuery(parseQuery(window.location.search, openUniversityIds));
  });
  useEffect(() => {
    const listener = () => onPopState();
    window.addEventListener("popstate", listener);
    return () => window.removeEventListener("popstate", listener);
  }, []);

  function change(changed: Partial<CatalogueQuery>, step: HistoryStep = "push") {
    const next = { ...query, ...changed };
    const { pathname, search } = window.location;
    const address = pathname + formatQuery(next, openUniversityIds, search);
    if (step === "push") window.history.pushState(null, "", address);
    else window.history.replaceState(null, "", address);
    setQuery(next);
  }

  return [query, change];
}

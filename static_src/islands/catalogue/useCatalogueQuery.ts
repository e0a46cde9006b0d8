import { useEffect, useEffectEvent, useState } from "react";
import { type CatalogueQuery, formatQuery, parseQuery } from "./query";

/** Whether a change adds an entry to the browser's history or replaces the current one. */
export type HistoryStep = "push" | "replace";

/** The query as React state, kept in sync with the page's address and the browser's history. */
export function useCatalogueQuery(
  initial: CatalogueQuery,
  openUniversityIds: number[],
): [CatalogueQuery, (change: Partial<CatalogueQuery>, step?: HistoryStep) => void] {
  const [query, setQuery] = useState(initial);

  // If the link had invalid values, the defaults are shown: correct the address.
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

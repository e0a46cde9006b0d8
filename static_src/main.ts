/** Finds the islands of the page and loads each when it is due. Knows no React. */
import { type LoadCondition, when } from "./lib/when";

type IslandModule = { default: (element: HTMLElement) => void };

for (const element of document.querySelectorAll<HTMLElement>("[data-island]")) {
  const { src, load } = element.dataset;
  if (!src) continue;
  when((load ?? "load") as LoadCondition, element, async () => {
    const island = (await import(src)) as IslandModule;
    island.default(element);
  });
}

// A toast that was raised just before a redirect is shown on the page it led to.
if (sessionStorage.getItem("toast")) {
  import("./lib/toast").then(({ showPendingToast }) => showPendingToast());
}

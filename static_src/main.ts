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

// The small screen's menu is a <details>: a followed link or Escape closes it.
const menu = document.querySelector<HTMLDetailsElement>(".menu");
menu?.addEventListener("click", ({ target }) => {
  if ((target as Element).closest("a")) menu.open = false;
});
menu?.addEventListener("keydown", ({ key }) => {
  if (key !== "Escape" || !menu.open) return;
  menu.open = false;
  menu.querySelector("summary")?.focus();
});

// A toast that was raised just before a redirect is shown on the page it led to.
if (sessionStorage.getItem("toast")) {
  import("./lib/toast").then(({ showPendingToast }) => showPendingToast());
}

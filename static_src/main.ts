/** Finds the islands of the page and loads each when it is due. Knows no React. */
import { startAnchors } from "./lib/anchors";
import { startAvatars } from "./lib/avatars";
import { startHelp } from "./lib/help";
import { startMenus } from "./lib/menus";
import { startPast } from "./lib/past";
import { type LoadCondition, when } from "./lib/when";

type IslandModule = { default: (element: HTMLElement) => void };

for (const element of document.querySelectorAll<HTMLElement>("[data-island]")) {
  const { src, load } = element.dataset;
  if (!src) continue;
  when((load ?? "load") as LoadCondition, element, async () => {
    const island = (await import(src)) as IslandModule;
    // A task of its own: what was tapped while the code was read in is answered first.
    setTimeout(() => island.default(element));
  });
}

startMenus();
startAnchors();
startPast();
startHelp();
startAvatars();

// Tooltips come with the first element that has one and is pointed at or focused.
const onFirstTooltip = ({ target }: Event) => {
  const element = (target as Element).closest?.("[data-tooltip]");
  if (!element) return;
  removeEventListener("pointerover", onFirstTooltip);
  removeEventListener("focusin", onFirstTooltip);
  import("./lib/tooltip").then(({ startTooltips }) => startTooltips(element));
};
addEventListener("pointerover", onFirstTooltip);
addEventListener("focusin", onFirstTooltip);

// A toast that was raised just before a redirect is shown on the page it led to.
// (Not through lib/storage: what the loader shares with an island becomes files of their own, for
// which every page would wait.)
try {
  if (sessionStorage.getItem("toast")) {
    import("./lib/toast").then(({ showPendingToast }) => showPendingToast());
  }
} catch {
  // This browser blocks site data, so nothing was left for this page.
}

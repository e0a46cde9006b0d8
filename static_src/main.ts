/**
 * The loader, on every page: finds the page's islands and imports each one when its load condition
 * is met. Must not import React.
 */
import { startAnchors } from "./lib/page/anchors";
import { startAvatars } from "./lib/page/avatars";
import { startHelp } from "./lib/page/help";
import { type LoadCondition, when } from "./lib/page/loadConditions";
import { startMenus } from "./lib/page/menus";
import { startScrolledPast } from "./lib/page/scrolledPast";

type IslandModule = { default: (element: HTMLElement) => void };

// A press ends as a click only on an element that stays in the page until then.
let released: Promise<unknown> | undefined;
addEventListener("pointerdown", () => {
  released = new Promise((resolve) => {
    for (const type of ["pointerup", "pointercancel"]) {
      addEventListener(type, resolve, { once: true });
    }
  });
});

for (const element of document.querySelectorAll<HTMLElement>("[data-island]")) {
  const { src, load } = element.dataset;
  if (!src) continue;
  // A form with `data-hold` that is sent before the island is mounted waits, and its button shows
  // that it is busy. The island finds the button, or `data-submitted`.
  element.addEventListener("submit", (event) => {
    if ("mounted" in element.dataset || !(event.target as Element).matches("[data-hold]")) return;
    event.preventDefault();
    element.dataset.submitted = "";
    event.submitter?.setAttribute("aria-busy", "true");
  });
  when((load ?? "load") as LoadCondition, element, async () => {
    const island = await importAll(src.split(" ")).catch((error: Error) => {
      // The server answers this press, and further ones.
      element.querySelector("[data-hold]")?.removeAttribute("data-hold");
      element.querySelector<HTMLElement>("button[aria-busy]")?.click();
      throw error;
    });
    await released;
    // Start the island in a new task, so that the browser first handles taps that are waiting.
    setTimeout(() => island.default(element));
  });
}

/**
 * Import an island's modules, of which the island itself is the last. Each is run on its own: the
 * browser can handle input between them. Run as one import they are a single long task.
 */
async function importAll(urls: string[]): Promise<IslandModule> {
  const modules = await Promise.all(urls.map((url) => import(url)));
  return modules.at(-1);
}

startMenus();
startAnchors();
startScrolledPast();
startHelp();
startAvatars();

// Load the tooltip code when an element with a tooltip is first pointed at or focused.
const onFirstTooltip = ({ target }: Event) => {
  const element = (target as Element).closest?.("[data-tooltip]");
  if (!element) return;
  removeEventListener("pointerover", onFirstTooltip);
  removeEventListener("focusin", onFirstTooltip);
  import("./lib/page/tooltip").then(({ startTooltips }) => startTooltips(element));
};
addEventListener("pointerover", onFirstTooltip);
addEventListener("focusin", onFirstTooltip);

// Show the toast that the previous page left for this one (see lib/page/toast.ts). This does not import
// lib/page/sessionStorage.ts: a module shared by the loader and an island becomes one more file that
// every page has to fetch.
try {
  if (sessionStorage.getItem("toast")) {
    import("./lib/page/toast").then(({ showPendingToast }) => showPendingToast());
  }
} catch {
  // The browser blocks site data, so there cannot be a stored toast.
}

/**
 * The help widget: appears 4 s after the page has loaded. Once closed it stays away from the pages
 * of this tab, until a page is reloaded.
 */

const APPEARS_AFTER_MS = 4000;
const CLOSED = "help-closed";

export function startHelp(): void {
  const help = document.querySelector<HTMLElement>(".help");
  if (!help) return;
  const here = () => location.pathname + location.search;
  let closed = false;
  // The stored address is that of the latest page. If it is this page's own, the page was reloaded.
  // `pageshow` also comes when Back shows a page as it was left.
  addEventListener("pageshow", () => {
    const latest = store((storage) => storage.getItem(CLOSED));
    if (latest === here()) store((storage) => storage.removeItem(CLOSED));
    else if (latest) close();
  });
  // The page may have changed its own query since.
  addEventListener("pagehide", () => closed && close());
  addEventListener("load", () =>
    setTimeout(() => {
      help.hidden = false;
    }, APPEARS_AFTER_MS),
  );
  const close = () => {
    closed = true;
    help.remove();
    store((storage) => storage.setItem(CLOSED, here()));
  };
  const card = help.querySelector("details") as HTMLDetailsElement;
  const minimise = () => {
    card.open = false;
    card.querySelector("summary")?.focus();
  };
  help.addEventListener("click", ({ target }) => {
    const action = (target as Element).closest<HTMLElement>("[data-help]")?.dataset.help;
    if (action === "close") close();
    if (action === "minimise") minimise();
  });
  help.addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && card.open) minimise();
  });
}

/**
 * As `trySessionStorage` in lib/page/sessionStorage.ts: a module that the loader shares with an island
 * would be one more file on every page.
 */
function store<T>(access: (storage: Storage) => T): T | null {
  try {
    return access(sessionStorage);
  } catch {
    return null;
  }
}

/**
 * The help widget: appears 4 s after the page has loaded. Once closed it stays away until a reload.
 */

const APPEARS_AFTER_MS = 4000;

export function startHelp(): void {
  const help = document.querySelector<HTMLElement>(".help");
  if (!help) return;
  addEventListener("load", () =>
    setTimeout(() => {
      help.hidden = false;
    }, APPEARS_AFTER_MS),
  );
  const card = help.querySelector("details") as HTMLDetailsElement;
  const minimise = () => {
    card.open = false;
    card.querySelector("summary")?.focus();
  };
  help.addEventListener("click", ({ target }) => {
    const action = (target as Element).closest<HTMLElement>("[data-help]")?.dataset.help;
    if (action === "close") help.remove();
    if (action === "minimise") minimise();
  });
  help.addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && card.open) minimise();
  });
}

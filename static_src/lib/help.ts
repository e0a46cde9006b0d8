/** The help widget: there 4 s after the page has loaded, until it is closed or the page reloaded. */

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
    const wish = (target as Element).closest<HTMLElement>("[data-help]")?.dataset.help;
    if (wish === "close") help.remove();
    if (wish === "minimise") minimise();
  });
  help.addEventListener("keydown", ({ key }) => {
    if (key === "Escape" && card.open) minimise();
  });
}

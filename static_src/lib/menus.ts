/** The header's menus. HTML and CSS draw them; this only opens and closes. */

type Menu = {
  holder: HTMLElement;
  isOpen(): boolean;
  show(open: boolean): void;
  opener: HTMLElement;
};

/** Hover menus: by mouse on entering and leaving, by keyboard and touch with their button. */
function hoverMenu(holder: HTMLElement): Menu {
  const opener = holder.querySelector("button") as HTMLElement;
  const isOpen = () => opener.getAttribute("aria-expanded") === "true";
  const show = (open: boolean) => opener.setAttribute("aria-expanded", String(open));
  const onMouse = ({ type, pointerType }: PointerEvent) => {
    if (pointerType === "mouse") show(type === "pointerenter");
  };
  holder.addEventListener("pointerenter", onMouse);
  holder.addEventListener("pointerleave", onMouse);
  // A mouse that presses the button has opened the menu on its way there.
  opener.addEventListener("click", (event) =>
    show((event as PointerEvent).pointerType === "mouse" || !isOpen()),
  );
  return { holder, opener, isOpen, show };
}

/** The small screen's menu is a <details>: it opens by itself, and a followed link closes it. */
function smallMenu(holder: HTMLDetailsElement): Menu {
  const show = (open: boolean) => {
    holder.open = open;
  };
  holder.addEventListener("click", ({ target }) => {
    if ((target as Element).closest("a")) show(false);
  });
  return {
    holder,
    opener: holder.querySelector("summary") as HTMLElement,
    isOpen: () => holder.open,
    show,
  };
}

export function startMenus(): void {
  const menus = [
    ...Array.from(document.querySelectorAll<HTMLElement>(".submenu"), hoverMenu),
    ...Array.from(document.querySelectorAll<HTMLDetailsElement>(".menu"), smallMenu),
  ];
  for (const { holder, opener, isOpen, show } of menus) {
    holder.addEventListener("keydown", ({ key }) => {
      if (key !== "Escape" || !isOpen()) return;
      show(false);
      opener.focus();
    });
    // Whoever touches or tabs to anything else is done with the menu.
    for (const type of ["pointerdown", "focusin"]) {
      document.addEventListener(type, ({ target }) => {
        if (isOpen() && !holder.contains(target as Node)) show(false);
      });
    }
  }
}

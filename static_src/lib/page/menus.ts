/** Opens and closes the header's menus. HTML and CSS do the rest. */

type Menu = {
  /** The element that contains the button and the menu. */
  container: HTMLElement;
  isOpen(): boolean;
  show(open: boolean): void;
  opener: HTMLElement;
};

/** A submenu: the mouse opens it on entering, keyboard and touch with its button. */
function hoverMenu(container: HTMLElement): Menu {
  const opener = container.querySelector("button") as HTMLElement;
  const isOpen = () => opener.getAttribute("aria-expanded") === "true";
  const show = (open: boolean) => opener.setAttribute("aria-expanded", String(open));
  const onMouse = ({ type, pointerType }: PointerEvent) => {
    if (pointerType === "mouse") show(type === "pointerenter");
  };
  container.addEventListener("pointerenter", onMouse);
  container.addEventListener("pointerleave", onMouse);
  // A mouse has already opened the menu by entering it, so a mouse click must not close it.
  opener.addEventListener("click", (event) =>
    show((event as PointerEvent).pointerType === "mouse" || !isOpen()),
  );
  return { container, opener, isOpen, show };
}

/** The menu of small screens and the search: a <details> element, which following a link closes. */
function detailsMenu(container: HTMLDetailsElement): Menu {
  const show = (open: boolean) => {
    container.open = open;
  };
  container.addEventListener("click", ({ target }) => {
    if ((target as Element).closest("a")) show(false);
  });
  container.addEventListener("toggle", () => container.querySelector("input")?.focus());
  return {
    container,
    opener: container.querySelector("summary") as HTMLElement,
    isOpen: () => container.open,
    show,
  };
}

export function startMenus(): void {
  const menus = [
    ...Array.from(document.querySelectorAll<HTMLElement>(".submenu"), hoverMenu),
    ...Array.from(document.querySelectorAll<HTMLDetailsElement>("[data-menu]"), detailsMenu),
  ];
  for (const { container, opener, isOpen, show } of menus) {
    container.addEventListener("keydown", ({ key }) => {
      if (key !== "Escape" || !isOpen()) return;
      show(false);
      opener.focus();
    });
    // Touching or focusing anything outside closes the menu.
    for (const type of ["pointerdown", "focusin"]) {
      document.addEventListener(type, ({ target }) => {
        if (isOpen() && !container.contains(target as Node)) show(false);
      });
    }
  }
}

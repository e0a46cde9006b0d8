/**
 * Toasts: short messages in the region `#toasts` of base.html, each shown for 4 s, at most 3 at a
 * time, or one over the payment dialog, where it has only the room of the dialog's heading. Written
 * without React, so that the loader can show one too.
 */
import { trySessionStorage } from "./sessionStorage";

export type Toast = { title: string; text?: string; tone: "info" | "success" | "error" };

const SHOWN_MS = 4000;
const MAX_VISIBLE = 3;
const PENDING = "toast";

export function toast({ title, text, tone }: Toast): void {
  const region = document.getElementById("toasts");
  if (!region) return;
  const most = document.querySelector(".purchase") ? 1 : MAX_VISIBLE;
  while (region.children.length >= most) region.firstElementChild?.remove();

  const item = document.createElement("div");
  item.className = `toast toast--${tone}`;
  const words = document.createElement("div");
  words.append(paragraph("toast__title", title));
  if (text) words.append(paragraph("toast__text", text));
  const close = document.createElement("button");
  close.type = "button";
  close.className = "toast__close";
  close.setAttribute("aria-label", "Cerrar aviso");
  close.dataset.tooltip = "Cerrar aviso";
  close.textContent = "×";
  close.addEventListener("click", () => item.remove());
  item.append(words, close);
  region.append(item);

  // The 4 s start again when the mouse or the focus leaves the toast. A touch does not hold it: it
  // would hold a toast that has appeared under the finger.
  let timer = window.setTimeout(() => item.remove(), SHOWN_MS);
  const hold = (event: Event) => {
    if (!isTouch(event)) window.clearTimeout(timer);
  };
  const release = (event: Event) => {
    if (isTouch(event)) return;
    window.clearTimeout(timer);
    timer = window.setTimeout(() => item.remove(), SHOWN_MS);
  };
  item.addEventListener("pointerenter", hold);
  item.addEventListener("pointerleave", release);
  item.addEventListener("focusin", hold);
  item.addEventListener("focusout", release);
}

const isTouch = (event: Event): boolean => (event as Partial<PointerEvent>).pointerType === "touch";

/** Remove the toasts of a step that the visitor has left. */
export function dismissToasts(): void {
  document.getElementById("toasts")?.replaceChildren();
}

/** Store a toast that the next page of this tab shows, once. */
export function toastOnNextPage(message: Toast): void {
  trySessionStorage((storage) => storage.setItem(PENDING, JSON.stringify(message)));
}

export function showPendingToast(): void {
  const pending = trySessionStorage((storage) => storage.getItem(PENDING));
  trySessionStorage((storage) => storage.removeItem(PENDING));
  if (pending) toast(JSON.parse(pending) as Toast);
}

function paragraph(className: string, text: string): HTMLParagraphElement {
  const element = document.createElement("p");
  element.className = className;
  element.textContent = text;
  return element;
}

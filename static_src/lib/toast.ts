/**
 * Short messages in the region of base.html: about 4 s each, at most 3 at a time (site spec,
 * section 9). Plain DOM, so that every island and the loader can raise one.
 */
import { stored } from "./storage";

export type Toast = { title: string; text?: string; tone: "info" | "success" | "error" };

const SHOWN_MS = 4000;
const MOST = 3;
const PENDING = "toast";

export function toast({ title, text, tone }: Toast): void {
  const region = document.getElementById("toasts");
  if (!region) return;
  while (region.children.length >= MOST) region.firstElementChild?.remove();

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

  // Time stands still while somebody is reading with the pointer or the focus on it.
  let timer = window.setTimeout(() => item.remove(), SHOWN_MS);
  const hold = () => window.clearTimeout(timer);
  const release = () => {
    hold();
    timer = window.setTimeout(() => item.remove(), SHOWN_MS);
  };
  item.addEventListener("pointerenter", hold);
  item.addEventListener("pointerleave", release);
  item.addEventListener("focusin", hold);
  item.addEventListener("focusout", release);
}

/** Keep a toast for the page that comes next: it survives a redirect, and only one. */
export function toastOnNextPage(message: Toast): void {
  stored((storage) => storage.setItem(PENDING, JSON.stringify(message)));
}

export function showPendingToast(): void {
  const pending = stored((storage) => storage.getItem(PENDING));
  stored((storage) => storage.removeItem(PENDING));
  if (pending) toast(JSON.parse(pending) as Toast);
}

function paragraph(className: string, text: string): HTMLParagraphElement {
  const element = document.createElement("p");
  element.className = className;
  element.textContent = text;
  return element;
}

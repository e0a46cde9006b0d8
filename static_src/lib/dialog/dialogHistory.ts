/**
 * The browser's Back button closes an open dialog, or goes to its step before, instead of leaving
 * the page. Each dialog has an entry in the browser's history, and each later step another one. The
 * entries are added by the press that opens them: browsers skip entries that a page adds by itself.
 */

// Marks the entries. A value of its own for each loaded page: the state of an entry outlives a
// reload, which closes every dialog.
const PAGE = `${performance.timeOrigin}`;
const backHandlers: (() => void)[] = [];
/** This module is removing entries. The browser does so a moment after the call. */
let removing = false;

/** How many of this page's dialogs and steps are open at the current entry of the history. */
const depth = (): number => {
  const { dialog, depth = 0 } = window.history.state ?? {};
  return dialog === PAGE ? depth : 0;
};

function addEntries(): void {
  for (let next = depth() + 1; next <= backHandlers.length; next++) {
    window.history.pushState({ ...window.history.state, dialog: PAGE, depth: next }, "");
  }
}

function onPopState(): void {
  if (removing || depth() >= backHandlers.length) return;
  backHandlers.at(-1)?.();
  // A dialog that must not be closed now stays open, and gets its entry again.
  setTimeout(addEntries);
}

/** Keeps the focus, which Chromium takes away when it goes back to an address with a fragment. */
function removeEntries(count: number): void {
  const focused = document.activeElement as HTMLElement;
  const restore = (): void => {
    if (document.activeElement === document.body) focused.focus({ preventScroll: true });
  };
  const onRemoved = (): void => {
    removing = false;
    // For what has opened meanwhile.
    addEntries();
    setTimeout(restore);
  };
  window.addEventListener("popstate", onRemoved, { once: true });
  removing = true;
  window.history.go(-count);
}

/**
 * Call `onBack` when the visitor goes back while a dialog or step is open. The returned function has
 * to be called when it has closed; it removes the history entry unless another one has opened.
 */
export function handleBack(onBack: () => void): () => void {
  if (backHandlers.length === 0) window.addEventListener("popstate", onPopState);
  backHandlers.push(onBack);
  addEntries();
  return () => {
    backHandlers.splice(backHandlers.indexOf(onBack), 1);
    // Wait for a dialog that replaces this one.
    setTimeout(() => {
      if (backHandlers.length === 0) window.removeEventListener("popstate", onPopState);
      const superfluous = depth() - backHandlers.length;
      if (superfluous > 0 && !removing) removeEntries(superfluous);
    });
  };
}

/**
 * The browser's Back button closes an open dialog instead of leaving the page. All dialogs that are
 * open at the same time share one entry of the browser's history.
 */

// Marks the entry. A value of its own for each loaded page: the state of an entry outlives a reload,
// which closes every dialog.
const PAGE = `${performance.timeOrigin}`;
const openDialogs: (() => void)[] = [];

const isAtDialog = (): boolean => window.history.state?.dialog === PAGE;

function addEntry(): void {
  if (!isAtDialog()) window.history.pushState({ ...window.history.state, dialog: PAGE }, "");
}

function onPopState(): void {
  if (isAtDialog()) return;
  openDialogs.at(-1)?.();
  // A dialog that must not be closed now stays open, and gets its entry again.
  setTimeout(() => {
    if (openDialogs.length > 0) addEntry();
  });
}

/** Chromium takes the focus away when it goes back to an address with a fragment. */
function goBackWithFocus(): void {
  const focused = document.activeElement as HTMLElement;
  const restore = (): void => {
    if (document.activeElement === document.body) focused.focus({ preventScroll: true });
  };
  window.addEventListener("popstate", () => setTimeout(restore), { once: true });
  window.history.back();
}

/**
 * Call `close` when the visitor goes back while the dialog is open. The returned function has to be
 * called when the dialog has closed; it removes the history entry unless another dialog has opened.
 */
export function closeOnBack(close: () => void): () => void {
  if (openDialogs.length === 0) window.addEventListener("popstate", onPopState);
  openDialogs.push(close);
  addEntry();
  return () => {
    openDialogs.splice(openDialogs.indexOf(close), 1);
    // Wait for a dialog that replaces this one.
    setTimeout(() => {
      if (openDialogs.length > 0) return;
      window.removeEventListener("popstate", onPopState);
      if (isAtDialog()) goBackWithFocus();
    });
  };
}

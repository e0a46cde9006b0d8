/** Removes photos that fail to load, so that the initials behind them show (`avatar.css`). */

export function startAvatars(): void {
  for (const photo of document.querySelectorAll<HTMLImageElement>(".avatar img")) {
    const drop = () => photo.remove();
    photo.addEventListener("error", drop);
    // The photo may have failed before this listener was added.
    if (photo.complete && !photo.naturalWidth) drop();
  }
}

/** A photo that does not load goes, and the initials that it covers are seen (`avatar.css`). */

export function startAvatars(): void {
  for (const photo of document.querySelectorAll<HTMLImageElement>(".avatar img")) {
    const drop = () => photo.remove();
    photo.addEventListener("error", drop);
    // It may have failed before anybody listened.
    if (photo.complete && !photo.naturalWidth) drop();
  }
}

/**
 * A video of the home page or of a sample lesson: poster, loading, then loaded or error. For privacy, nothing is
 * requested from the video's host before the click that loads this island.
 */
import { isReady, playerUrl, READY_WITHIN_MS, VIDEO_HOST } from "./player";

export default function play(element: HTMLElement): void {
  const poster = element.querySelector("a");
  if (!poster) return;
  const frame = document.createElement("iframe");
  frame.className = "video__frame";
  frame.title = poster.dataset.title ?? "Vídeo de presentación";
  frame.allow = "autoplay; fullscreen; picture-in-picture";
  frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-presentation");
  frame.src = playerUrl(poster.href);

  const message = document.createElement("div");
  message.className = "video__message";
  message.setAttribute("role", "status");
  message.textContent = "Cargando video...";
  element.dataset.state = "loading";
  poster.replaceWith(frame, message);
  frame.focus();

  const onMessage = (event: MessageEvent) => {
    if (event.origin !== VIDEO_HOST || !isReady(event.data)) return;
    settle("loaded");
    message.remove();
  };
  const timer = window.setTimeout(() => {
    settle("error");
    frame.remove();
    poster.className = "button";
    poster.removeAttribute("aria-label");
    poster.textContent = "Ver en Vimeo";
    message.replaceChildren(text("Error al cargar el video"), poster);
    poster.focus();
  }, READY_WITHIN_MS);
  const settle = (state: string) => {
    window.clearTimeout(timer);
    window.removeEventListener("message", onMessage);
    element.dataset.state = state;
  };
  window.addEventListener("message", onMessage);
  // The player may have been ready before the listener was added. It answers a ping when it is
  // ready.
  frame.addEventListener("load", () =>
    frame.contentWindow?.postMessage({ method: "ping" }, VIDEO_HOST),
  );
}

function text(words: string): HTMLElement {
  const paragraph = document.createElement("p");
  paragraph.textContent = words;
  return paragraph;
}

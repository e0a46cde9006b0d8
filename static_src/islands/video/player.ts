/** Vimeo's player: its address and its messages. */

export const VIDEO_HOST = "https://player.vimeo.com";
/** The video has failed if the player is not ready within this time. */
export const READY_WITHIN_MS = 8000;

/**
 * The player for "https://vimeo.com/123": autoplay, sound and controls on, no loop, no tracking.
 */
export function playerUrl(videoUrl: string): string {
  const id = /\d+$/.exec(videoUrl)?.[0] ?? "";
  const options = "autoplay=1&muted=0&controls=1&loop=0&dnt=1";
  return `${VIDEO_HOST}/video/${id}?${options}`;
}

/** Whether a message says that the player is ready. Messages are objects or JSON strings. */
export function isReady(data: unknown): boolean {
  const { event, method } = parsed(data);
  return event === "ready" || method === "ping";
}

function parsed(data: unknown): { event?: unknown; method?: unknown } {
  try {
    return Object(typeof data === "string" ? JSON.parse(data) : data);
  } catch {
    return {};
  }
}

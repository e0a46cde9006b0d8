import { expect, test } from "vitest";
import { isReady, playerUrl } from "./player";

test("the player starts at once, with sound and controls, does not loop and does not track", () => {
  const url = new URL(playerUrl("https://vimeo.com/76979871"));
  expect(url.origin + url.pathname).toBe("https://player.vimeo.com/video/76979871");
  expect(Object.fromEntries(url.searchParams)).toEqual({
    autoplay: "1",
    muted: "0",
    controls: "1",
    loop: "0",
    dnt: "1",
  });
});

test("the player is ready when it says so or answers a ping, as an object or as its JSON", () => {
  expect(isReady({ event: "ready" })).toBe(true);
  expect(isReady('{"event":"ready"}')).toBe(true);
  expect(isReady('{"method":"ping"}')).toBe(true);
});

test.each([{ event: "play" }, '{"event":"play"}', "ready", "{", null, 7])(
  "%j does not say that the player is ready",
  (data) => expect(isReady(data)).toBe(false),
);

import { expect, test } from "vitest";
import { isReady, playerUrl } from "./player";

test("the player has autoplay, sound and controls, no loop and no tracking", () => {
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

test('the player is ready when it sends "ready" or answers a ping, as an object or as JSON', () => {
  expect(isReady({ event: "ready" })).toBe(true);
  expect(isReady('{"event":"ready"}')).toBe(true);
  expect(isReady('{"method":"ping"}')).toBe(true);
});

test.each([{ event: "play" }, '{"event":"play"}', "ready", "{", null, 7])(
  "the player is not ready after the message %j",
  (data) => expect(isReady(data)).toBe(false),
);

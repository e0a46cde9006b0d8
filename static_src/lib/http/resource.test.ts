import { expect, it } from "vitest";
import { ResourceCache } from "./resource";

it("caches a response for one minute under its key", () => {
  let now = 1_000;
  const cache = new ResourceCache<string>(() => now);
  cache.put("/api/catalogue?page=1", "first page");
  now += 59_999;
  expect(cache.peek("/api/catalogue?page=1")).toBe("first page");
  expect(cache.peek("/api/catalogue?page=2")).toBeUndefined();
  now += 1;
  expect(cache.peek("/api/catalogue?page=1")).toBeUndefined();
});

it("restarts the minute when the response is stored again", () => {
  let now = 0;
  const cache = new ResourceCache<string>(() => now);
  cache.put("key", "old");
  now = 59_000;
  cache.put("key", "new");
  now = 118_999;
  expect(cache.peek("key")).toBe("new");
});

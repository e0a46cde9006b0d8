import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { debounce } from "./debounce";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("waits for 300 ms of silence and then tells the last word only", () => {
  const told: string[] = [];
  const tell = debounce((word: string) => told.push(word), 300);
  tell("d");
  vi.advanceTimersByTime(299);
  tell("de");
  vi.advanceTimersByTime(299);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(told).toEqual(["de"]);
});

it("tells at once when flushed, and not a second time", () => {
  const told: string[] = [];
  const tell = debounce((word: string) => told.push(word), 300);
  tell("derecho");
  tell.flush();
  vi.advanceTimersByTime(1000);
  tell.flush();
  expect(told).toEqual(["derecho"]);
});

it("tells nothing after it was cancelled", () => {
  const told: string[] = [];
  const tell = debounce((word: string) => told.push(word), 300);
  tell("derecho");
  tell.cancel();
  tell.flush();
  vi.advanceTimersByTime(1000);
  expect(told).toEqual([]);
});

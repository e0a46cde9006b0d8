import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { debounce } from "./debounce";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("calls the function with the last arguments after 300 ms without another call", () => {
  const calls: string[] = [];
  const debounced = debounce((text: string) => calls.push(text), 300);
  debounced("d");
  vi.advanceTimersByTime(299);
  debounced("de");
  vi.advanceTimersByTime(299);
  expect(calls).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(calls).toEqual(["de"]);
});

it("calls the function at once when flushed, and only once", () => {
  const calls: string[] = [];
  const debounced = debounce((text: string) => calls.push(text), 300);
  debounced("derecho");
  debounced.flush();
  vi.advanceTimersByTime(1000);
  debounced.flush();
  expect(calls).toEqual(["derecho"]);
});

it("does not call the function after it was canceled", () => {
  const calls: string[] = [];
  const debounced = debounce((text: string) => calls.push(text), 300);
  debounced("derecho");
  debounced.cancel();
  debounced.flush();
  vi.advanceTimersByTime(1000);
  expect(calls).toEqual([]);
});

import { useEffect, useState } from "react";
import { secondsUntil } from "./countdown";

/** Seconds until a moment (in milliseconds), counted down while the component is shown. */
export function useSecondsUntil(moment: number): number {
  const [now, setNow] = useState(() => Date.now());
  const left = secondsUntil(moment, now);
  useEffect(() => {
    setNow(Date.now());
    const timer = setInterval(() => {
      setNow(Date.now());
      if (Date.now() >= moment) clearInterval(timer);
    }, 1000);
    return () => clearInterval(timer);
  }, [moment]);
  return left;
}

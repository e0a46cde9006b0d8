import { useEffect, useState } from "react";

const SLOW_AFTER_MS = 5000;

/** What the page is waiting for. After 5 s it says that the connection is slow. */
export function Waiting({ children }: { children: string }) {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), SLOW_AFTER_MS);
    return () => clearTimeout(timer);
  }, []);
  return (
    <p className="card-form__wait" role="status">
      <span>
        {children}
        {slow && (
          <small> La conexión va lenta. Seguimos intentándolo: no cierres esta página.</small>
        )}
      </span>
    </p>
  );
}

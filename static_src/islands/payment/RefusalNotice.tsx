import { type ReactNode, useEffect, useRef } from "react";

/**
 * Why the server refused the order. On a phone the pay button that was pressed is far below the
 * order, so the notice is scrolled into view.
 */
export function RefusalNotice({ children }: { children: ReactNode }) {
  const notice = useRef<HTMLDivElement>(null);
  useEffect(() => {
    notice.current?.scrollIntoView({ block: "center" });
  }, []);
  return (
    <div className="notice notice--warning" role="alert" ref={notice}>
      {children}
    </div>
  );
}

/**
 * A dialog for short forms without a library: the rest of the page is inert while it is open, so
 * that focus and pointer stay in it. The payment dialog does not use it: the bank's frame is
 * mounted on the body and has to stay alive.
 */
import { type ReactNode, useEffect, useEffectEvent, useId, useRef } from "react";
import { createPortal } from "react-dom";
import { CloseIcon } from "./icons";

type Props = { title: string; onClose(): void; children: ReactNode };

/** Open for as long as it is rendered. The focus goes to its title, and back where it was. */
export function Modal({ title, onClose, children }: Props) {
  const id = useId();
  const frame = useRef<HTMLDivElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const close = useEffectEvent(onClose);

  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    // Toasts speak while the dialog is open: what is inert is not read out.
    const others = ([...document.body.children] as HTMLElement[]).filter(
      (element) => element !== frame.current && element.id !== "toasts" && !element.inert,
    );
    for (const element of others) element.inert = true;
    heading.current?.focus();
    const onKey = (event: KeyboardEvent) => {
      if (event.key === "Escape") close();
    };
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("keydown", onKey);
      for (const element of others) element.inert = false;
      before?.focus();
    };
  }, []);

  return createPortal(
    <div className="modal" ref={frame}>
      <div className="dialog__backdrop" />
      <div className="dialog" role="dialog" aria-labelledby={id}>
        <header className="modal__header">
          <h2 id={id} ref={heading} tabIndex={-1}>
            {title}
          </h2>
          <button
            type="button"
            className="button button--plain button--icon"
            aria-label="Cerrar"
            onClick={onClose}
          >
            <CloseIcon />
          </button>
        </header>
        <div className="modal__body">{children}</div>
      </div>
    </div>,
    document.body,
  );
}

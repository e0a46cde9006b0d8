/**
 * A dialog for short forms without a library: the rest of the page is inert while it is open, so
 * that focus and pointer stay in it. The payment dialog does not use it: the bank's frame is
 * mounted on the body and has to stay alive.
 */
import { type ReactNode, useEffect, useEffectEvent, useId, useRef, useState } from "react";
import { createPortal } from "react-dom";
import { CloseIcon } from "./icons";

type ButtonProps = {
  /** The button's words. */
  label: string;
  className: string;
  title: string;
  children(close: () => void): ReactNode;
};

/**
 * A button and its dialog, an island that arrives with the first press (`load="click"`): open.
 * The focus goes to the dialog's title, and to the button when it closes.
 */
export function ModalButton({ label, className, title, children }: ButtonProps) {
  const [open, setOpen] = useState(true);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => setOpen(false);

  // The rest of the page is alive again only when the dialog has gone.
  useEffect(() => {
    if (!open) button.current?.focus();
  }, [open]);

  return (
    <>
      <button
        type="button"
        ref={button}
        className={className}
        aria-haspopup="dialog"
        onClick={() => setOpen(true)}
      >
        {label}
      </button>
      {open && (
        <Modal title={title} onClose={close}>
          {children(close)}
        </Modal>
      )}
    </>
  );
}

type Props = { title: string; onClose(): void; children: ReactNode };

function Modal({ title, onClose, children }: Props) {
  const id = useId();
  const frame = useRef<HTMLDivElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const close = useEffectEvent(onClose);

  useEffect(() => {
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

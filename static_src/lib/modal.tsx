/**
 * The site's dialog. The rest of the page is inert while it is open and Tab goes round inside. Not
 * so what Stripe mounts on the body: the bank's 3-D Secure question comes in a frame there, and has
 * to be reached by pointer and keyboard.
 */
import {
  type ComponentProps,
  type ReactNode,
  type RefObject,
  useEffect,
  useEffectEvent,
  useId,
  useRef,
  useState,
} from "react";
import { createPortal } from "react-dom";
import { CloseIcon } from "./icons";

type ButtonProps = {
  /** The button's words. */
  label: string;
  className: string;
  title: string;
  children(close: () => void): ReactNode;
};

/** A button and its dialog, an island that arrives with the first press (`load="click"`): open. */
export function ModalButton({ label, className, title, children }: ButtonProps) {
  const [open, setOpen] = useState(true);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => setOpen(false);

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
        <Modal title={title} opener={button} onClose={close}>
          {children(close)}
        </Modal>
      )}
    </>
  );
}

type Props = {
  /** Has the focus when the dialog opens and whenever it changes. */
  title: string;
  /** What gets the focus when the dialog has gone. */
  opener: RefObject<HTMLElement | null>;
  /** Asked for by the cross and by Escape; the dialog stays until it is no longer rendered. */
  onClose(): void;
  /** Nothing can be closed now: the cross is disabled. Escape is for `onClose` to refuse. */
  locked?: boolean;
  /** The bank may be asking in its frame: Tab leads there too. */
  sharesFocus?: boolean;
  /** Before and below the title. */
  before?: ReactNode;
  note?: ReactNode;
  /** For the dialog's own element. */
  attributes?: ComponentProps<"div">;
  children: ReactNode;
};

/** Not `aria-modal`: toasts and the bank's frame, which stand outside of it, are read out too. */
export function Modal({ title, opener, onClose, children, ...props }: Props) {
  const { locked = false, sharesFocus = false, before, note, attributes } = props;
  const id = useId();
  const frame = useRef<HTMLDivElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);

  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.key === "Escape") onClose();
    if (event.key === "Tab" && !sharesFocus && frame.current) keepInside(frame.current, event);
  });

  useEffect(() => {
    const others = ([...document.body.children] as HTMLElement[]).filter(
      (element) => element !== frame.current && !element.inert && !staysAlive(element),
    );
    for (const element of others) element.inert = true;
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("keydown", onKey);
      for (const element of others) element.inert = false;
      giveBack(opener.current);
    };
  }, [opener]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: each view is announced by its title.
  useEffect(() => heading.current?.focus(), [title]);

  return createPortal(
    <div className="modal" ref={frame}>
      <div className="dialog__backdrop" />
      <div
        {...attributes}
        className={`dialog ${attributes?.className ?? ""}`}
        role="dialog"
        aria-labelledby={id}
      >
        <header className="modal__header">
          {before}
          <div className="modal__titles">
            <h2 id={id} ref={heading} tabIndex={-1}>
              {title}
            </h2>
            {note}
          </div>
          <button
            type="button"
            className="button button--plain button--icon"
            aria-label="Cerrar"
            data-tooltip="Cerrar"
            disabled={locked}
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

/** Toasts speak while a dialog is open, and a frame on the body, bare or in a box, is Stripe's. */
function staysAlive(element: HTMLElement): boolean {
  return element.matches("#toasts,iframe") || !!element.querySelector(":scope>iframe");
}

const STOPS = "a[href],button,input,select,textarea,summary,iframe";

/** Beyond the last stop Tab goes on with the first, and the other way round. */
function keepInside(frame: HTMLElement, event: KeyboardEvent): void {
  const stops = [...frame.querySelectorAll<HTMLElement>(STOPS)].filter(
    (stop) => stop.tabIndex >= 0 && !stop.matches(":disabled") && stop.getClientRects().length > 0,
  );
  const here = document.activeElement;
  const wanted = event.shiftKey
    ? Node.DOCUMENT_POSITION_PRECEDING
    : Node.DOCUMENT_POSITION_FOLLOWING;
  const goesOn = stops.some((stop) => here && here.compareDocumentPosition(stop) & wanted);
  if (frame.contains(here) && goesOn) return;
  event.preventDefault();
  stops.at(event.shiftKey ? -1 : 0)?.focus();
}

/** The focus to what opened the dialog; to its menu's button where that has closed over it. */
function giveBack(opener: HTMLElement | null): void {
  const menu = opener?.closest("details");
  const target = menu && !menu.open ? menu.querySelector("summary") : opener;
  (target ?? document.getElementById("contenido"))?.focus();
}

/**
 * The site's modal dialog. While it is open, the rest of the page is inert and Tab stays inside.
 * The frames that Stripe adds to the body are an exception: the bank's 3-D Secure challenge appears
 * there and must be usable by pointer and keyboard.
 */
import {
  type ComponentProps,
  type ReactNode,
  type RefObject,
  useEffect,
  useEffectEvent,
  useId,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import { createPortal } from "react-dom";
import { CloseIcon } from "../icons";
import { handleBack } from "./dialogHistory";

type ButtonProps = {
  /** The text of the button. */
  label: string;
  className: string;
  title: string;
  children(close: () => void): ReactNode;
};

/**
 * A button that opens a dialog. Its island loads on the first click, so it starts with the dialog
 * open.
 */
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
  /** The heading. It gets the focus when the dialog opens and when the title changes. */
  title: string;
  /** The element that gets the focus when the dialog closes. */
  opener: RefObject<HTMLElement | null>;
  /**
   * Called by the close button, by Escape and by the browser's Back button. The caller closes the
   * dialog by not rendering it.
   */
  onClose(): void;
  /** Called by the browser's Back button in place of `onClose`: there is a step before this one. */
  onBack?: (() => void) | undefined;
  /** The dialog cannot be closed now: disables the close button. `onClose` must ignore the other ways. */
  locked?: boolean;
  /** Tab may leave the dialog: the bank's 3-D Secure frame may be open. */
  allowTabOut?: boolean;
  /** Content before the title. */
  before?: ReactNode;
  /** Content below the title. */
  note?: ReactNode;
  /** Attributes of the element with role dialog. */
  attributes?: ComponentProps<"div">;
  children: ReactNode;
};

/** Has no `aria-modal`, because screen readers must also read the toasts and the bank's frame. */
export function Modal({ title, opener, onClose, onBack, children, ...props }: Props) {
  const { locked = false, allowTabOut = false, before, note, attributes } = props;
  const id = useId();
  const frame = useRef<HTMLDivElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const body = useRef<HTMLDivElement>(null);

  const closeDialog = useEffectEvent(() => onClose());
  useEffect(() => handleBack(() => closeDialog()), []);

  const goBack = useEffectEvent(() => onBack?.());
  const hasStepBefore = !!onBack;
  useEffect(() => (hasStepBefore ? handleBack(() => goBack()) : undefined), [hasStepBefore]);

  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.key === "Escape") onClose();
    if (event.key === "Tab" && !allowTabOut && frame.current) keepTabInside(frame.current, event);
  });

  // In the commit that shows the dialog: a key pressed right then must find it ready.
  useLayoutEffect(() => {
    const others = ([...document.body.children] as HTMLElement[]).filter(
      (element) => element !== frame.current && !element.inert && !staysInteractive(element),
    );
    for (const element of others) element.inert = true;
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("keydown", onKey);
      for (const element of others) element.inert = false;
      restoreFocus(opener.current);
    };
  }, [opener]);

  // Each view is announced by its title and begins at its top.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the title stands for the view.
  useLayoutEffect(() => {
    if (body.current) body.current.scrollTop = 0;
    heading.current?.focus();
  }, [title]);

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
            // As a sheet shrinks, this button may move under the second tap of a double tap.
            onClick={({ detail }) => detail < 2 && onClose()}
          >
            <CloseIcon />
          </button>
        </header>
        <div className="modal__body" ref={body}>
          {children}
        </div>
      </div>
    </div>,
    document.body,
  );
}

/**
 * Toasts stay interactive, and so do frames on the body, with or without a box: they are Stripe's.
 */
function staysInteractive(element: HTMLElement): boolean {
  return element.matches("#toasts,iframe") || !!element.querySelector(":scope>iframe");
}

const FOCUSABLE = "a[href],button,input,select,textarea,summary,iframe";

/** Tab on the last focusable element goes to the first; Shift+Tab on the first goes to the last. */
function keepTabInside(frame: HTMLElement, event: KeyboardEvent): void {
  const focusable = [...frame.querySelectorAll<HTMLElement>(FOCUSABLE)].filter(
    (element) =>
      element.tabIndex >= 0 && !element.matches(":disabled") && element.getClientRects().length > 0,
  );
  const current = document.activeElement;
  const direction = event.shiftKey
    ? Node.DOCUMENT_POSITION_PRECEDING
    : Node.DOCUMENT_POSITION_FOLLOWING;
  const hasNext = focusable.some(
    (element) => current && current.compareDocumentPosition(element) & direction,
  );
  if (frame.contains(current) && hasNext) return;
  event.preventDefault();
  focusable.at(event.shiftKey ? -1 : 0)?.focus();
}

/** Focus the element that opened the dialog, or its menu's button if that menu is closed now. */
function restoreFocus(opener: HTMLElement | null): void {
  const menu = opener?.closest("details");
  const target = menu && !menu.open ? menu.querySelector("summary") : opener;
  (target ?? document.getElementById("contenido"))?.focus();
}

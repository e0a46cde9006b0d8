/** Mounts a React component in place of the server's HTML. */
import {
  Component,
  type ComponentType,
  type ReactNode,
  startTransition,
  use,
  useLayoutEffect,
} from "react";
import { createRoot } from "react-dom/client";
import * as z from "zod/mini";
import "./common";
// In the file of toasts, which the loader imports without React.
import "./page/toast";

/**
 * Make a component an island: `export default defineIsland(Props, Component)`.
 *
 * The returned function takes the element that the template tag `island` wrote, validates its JSON
 * props and renders the component as a transition, so that the browser can handle input meanwhile.
 * The server's HTML stays visible until React has rendered. If an element in it had the focus, the
 * element with the same id gets the focus. A press, a change of a field or a form that is sent is
 * not lost: the component is rendered anew after it. Invalid props throw, and the server's HTML
 * stays.
 */
export function defineIsland<Schema extends z.ZodMiniType<object>>(
  schema: Schema,
  Island: ComponentType<z.output<Schema>>,
): (element: HTMLElement) => void {
  return (element) => {
    const json = element.querySelector(":scope > script[type='application/json']")?.textContent;
    const props = z.parse(schema, JSON.parse(json || "{}"));
    let focusedId = element.contains(document.activeElement) ? document.activeElement?.id : "";
    const onFocus = ({ target }: FocusEvent) => {
      focusedId = (target as Element).id;
    };
    element.addEventListener("focusin", onFocus);
    const root = createRoot(element);
    // A press ends as a click only on an element that stays in the page until then.
    let released: Promise<void> | undefined;
    let attempt = 0;
    const onPress = () => {
      released = new Promise((resolve) => {
        for (const [type, ms] of RELEASES) {
          addEventListener(type, () => setTimeout(resolve, ms), { once: true });
        }
      });
      render();
    };
    const onMount = () => {
      element.removeEventListener("focusin", onFocus);
      element.removeEventListener("pointerdown", onPress);
      element.removeEventListener("change", render);
      element.removeEventListener("submit", render);
      element.dataset.mounted = "";
      // Restore the focus only if its element was removed with the server's HTML.
      if (!focusedId || document.activeElement !== document.body) return;
      document.getElementById(focusedId)?.focus({ preventScroll: true });
    };
    function render() {
      const own = ++attempt;
      startTransition(() =>
        root.render(
          <OnMount key={own} after={released} onMount={onMount}>
            <ErrorBoundary>
              <Island {...props} />
            </ErrorBoundary>
            <Unless late={() => own !== attempt} />
          </OnMount>,
        ),
      );
    }
    element.addEventListener("pointerdown", onPress);
    element.addEventListener("change", render);
    element.addEventListener("submit", render);
    render();
  };
}

// How a press ends, and after how many milliseconds no click follows. On a touch screen the click is
// an event of its own, which may follow late.
const RELEASES = [
  ["click", 0],
  ["pointercancel", 0],
  ["pointerup", 500],
] as const;

type OnMountProps = { after?: Promise<void> | undefined; onMount(): void; children: ReactNode };

/** Renders the children once `after` is resolved, and calls `onMount` when they are in the page. */
function OnMount({ after, onMount, children }: OnMountProps) {
  if (after) use(after);
  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once.
  useLayoutEffect(onMount, []);
  return children;
}

const NEVER = new Promise<never>(() => undefined);

/** The last child, rendered just before React changes the page: it does not if this is `late`. */
function Unless({ late }: { late(): boolean }) {
  if (late()) use(NEVER);
  return null;
}

/** Shows the error when a component throws while it renders. */
class ErrorBoundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state: { error: Error | null } = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    return (
      <div className="notice notice--error" role="alert">
        <p>
          <strong>Unexpected Application Error!</strong>
        </p>
        <p lang="en">{error.message}</p>
        <p>Algo ha fallado en esta parte de la página. Recárgala para volver a intentarlo.</p>
        <button type="button" className="button" onClick={() => window.location.reload()}>
          Recargar la página
        </button>
      </div>
    );
  }
}

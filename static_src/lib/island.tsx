/** Mounts a React component over the server's HTML. An island is a schema and a component. */
import {
  Component,
  type ComponentType,
  type ReactNode,
  startTransition,
  useLayoutEffect,
} from "react";
import { createRoot } from "react-dom/client";
import * as z from "zod/mini";

/**
 * Make a component an island: `export default defineIsland(Props, Component)`.
 *
 * The result takes the element that the template tag `island` wrote, parses its JSON props and
 * renders, in slices between which the browser answers what is tapped. The server's HTML stays until
 * React has drawn; the focus is kept on the element with the same id. Props that do not fit throw,
 * and the server's HTML stays for good.
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
    const onMount = () => {
      element.removeEventListener("focusin", onFocus);
      element.dataset.mounted = "";
      // What had the focus has gone with the server's HTML; elsewhere on the page it stays.
      if (!focusedId || document.activeElement !== document.body) return;
      document.getElementById(focusedId)?.focus({ preventScroll: true });
    };
    startTransition(() =>
      createRoot(element).render(
        <Mount onMount={onMount}>
          <Boundary>
            <Island {...props} />
          </Boundary>
        </Mount>,
      ),
    );
  };
}

/** Tells once that what is inside stands on the page. */
function Mount({ onMount, children }: { onMount(): void; children: ReactNode }) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: once.
  useLayoutEffect(onMount, []);
  return children;
}

/** What is left to say when a component throws while it renders (site spec, section 8). */
class Boundary extends Component<{ children: ReactNode }, { error: Error | null }> {
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

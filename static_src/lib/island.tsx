/** Mounts a React component over the server's HTML. An island is a schema and a component. */
import { Component, type ComponentType, type ReactNode } from "react";
import { flushSync } from "react-dom";
import { createRoot } from "react-dom/client";
import * as z from "zod/mini";

/**
 * Make a component an island: `export default defineIsland(Props, Component)`.
 *
 * The result takes the element that the template tag `island` wrote, parses its JSON props and
 * renders. The server's HTML stays until React has drawn; the focus is kept on the element with
 * the same id. Props that do not fit throw, and the server's HTML stays for good.
 */
export function defineIsland<Schema extends z.ZodMiniType<object>>(
  schema: Schema,
  Island: ComponentType<z.output<Schema>>,
): (element: HTMLElement) => void {
  return (element) => {
    const json = element.querySelector(":scope > script[type='application/json']")?.textContent;
    const props = z.parse(schema, JSON.parse(json || "{}"));
    const focusedId = element.contains(document.activeElement) ? document.activeElement?.id : "";
    const root = createRoot(element);
    flushSync(() =>
      root.render(
        <Boundary>
          <Island {...props} />
        </Boundary>,
      ),
    );
    element.dataset.mounted = "";
    if (focusedId) document.getElementById(focusedId)?.focus({ preventScroll: true });
  };
}

/** What is left to say when a component throws while it renders (site spec, section 8). */
class Boundary extends Component<{ children: ReactNode }, { error: Error | null }> {
  override state = { error: null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <div className="notice notice--error" role="alert">
        <p>
          <strong>Unexpected Application Error!</strong>
        </p>
        <p>Algo ha fallado en esta parte de la página. Recárgala para volver a intentarlo.</p>
        <button type="button" className="button" onClick={() => window.location.reload()}>
          Recargar la página
        </button>
      </div>
    );
  }
}

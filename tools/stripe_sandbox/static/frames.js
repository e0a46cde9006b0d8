// Frames of the sandbox's origin. The page sends each frame a message port, addressed to that origin.
// All later messages use the port, so no other window can read or send them.
export const ORIGIN = new URL(document.currentScript.src).origin;

export function openFrame({ path, title, styles, init, onMessage }) {
  const iframe = document.createElement("iframe");
  let port = null;
  let waiting = [];
  iframe.title = title;
  iframe.allow = "payment *";
  for (const [name, value] of Object.entries({ border: "0", ...styles })) {
    iframe.style.setProperty(name, value);
  }
  iframe.addEventListener("load", () => {
    const channel = new MessageChannel();
    port = channel.port1;
    port.onmessage = (event) => onMessage(event.data);
    iframe.contentWindow.postMessage({ type: "init", ...init() }, ORIGIN, [channel.port2]);
    for (const message of waiting) port.postMessage(message);
    waiting = [];
  });
  iframe.src = ORIGIN + path;
  return {
    iframe,
    send(message) {
      if (port) port.postMessage(message);
      else waiting.push(message);
    },
    close() {
      port?.close();
      iframe.remove();
    },
  };
}

// A frame over the whole page until its message "done". Then the focus goes back to where it was.
export function openOverPage({ path, title, init, onDone }) {
  const focused = document.activeElement;
  const frame = openFrame({
    path,
    title,
    styles: {
      position: "fixed",
      inset: "0",
      width: "100%",
      height: "100%",
      "z-index": "2147483647",
      "color-scheme": "light",
      "pointer-events": "auto",
    },
    init,
    onMessage(message) {
      if (message.type === "ready") {
        // Focus the frame before its content: the other order loses the focus in the frame.
        frame.iframe.focus();
        frame.send({ type: "focus" });
      }
      if (message.type === "done") {
        frame.close();
        if (focused instanceof HTMLElement) focused.focus({ preventScroll: true });
        onDone(message);
      }
    },
  });
  document.body.append(frame.iframe);
  return frame;
}

// 3-D Secure: the page of the customer's bank.
export function openChallenge(address) {
  const { pathname } = new URL(address);
  return new Promise((resolve) => {
    openOverPage({
      path: pathname,
      title: "Autenticación 3-D Secure",
      init: () => ({}),
      onDone: resolve,
    });
  });
}

// Stripe's form encoding: {card: {number}} to card[number]=…
export function formEncoded(values, prefix = "", form = new URLSearchParams()) {
  for (const [name, value] of Object.entries(values)) {
    const key = prefix ? `${prefix}[${name}]` : name;
    if (value === undefined || value === null) continue;
    if (typeof value === "object") formEncoded(value, key, form);
    else form.append(key, String(value));
  }
  return form;
}

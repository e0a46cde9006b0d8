// The button of the test wallet. The page communicates with this frame only through the port of its
// "init" message.
(() => {
  const button = document.getElementById("pay");
  const available = document.body.dataset.available === "true";
  let port = null;

  function apply({ theme, radius, height }) {
    const root = document.documentElement;
    root.classList.toggle("dark", theme === "dark");
    root.style.colorScheme = theme;
    root.style.setProperty("--radius", radius);
    root.style.setProperty("--height", `${height}px`);
  }

  function receive({ type, ...rest }) {
    if (type === "update") apply(rest);
    else if (type === "focus") button.focus();
    else if (type === "blur") button.blur();
  }

  for (const type of ["click", "focus", "blur"]) {
    button.addEventListener(type, () => port?.postMessage({ type }));
  }
  button.addEventListener("keydown", (event) => {
    if (event.key === "Escape") port?.postMessage({ type: "escape" });
  });
  window.addEventListener("message", (event) => {
    if (port || event.source !== window.parent || event.data?.type !== "init") return;
    port = event.ports[0];
    port.onmessage = (message) => receive(message.data);
    apply(event.data);
    button.hidden = !available;
    port.postMessage({ type: "ready", available });
  });
})();

// The 3-D Secure page of the bank: in a frame over the merchant's page, or as a page after a redirect.
(() => {
  const question = document.getElementById("question");
  const outcome = document.getElementById("outcome");
  const title = document.getElementById("title");
  const buttons = [document.getElementById("accept"), document.getElementById("reject")];
  const isFramed = window.parent !== window;
  let port = null;

  function finish(address) {
    if (isFramed) port?.postMessage({ type: "done" });
    else if (address) location.assign(address);
  }

  async function answer(accept) {
    for (const button of buttons) button.disabled = true;
    outcome.textContent = "Un momento…";
    try {
      const response = await fetch(location.pathname, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ accept }),
      });
      if (!response.ok) throw new Error(String(response.status));
      const { status, return_url: address } = await response.json();
      const paid = ["succeeded", "processing"].includes(status);
      question.hidden = true;
      outcome.textContent = document.body.dataset[paid ? "accepted" : "refused"];
      finish(address);
    } catch {
      outcome.textContent = "No se ha podido enviar tu respuesta. Inténtalo de nuevo.";
      for (const button of buttons) button.disabled = false;
    }
  }

  // The page behind is covered, so the Tab key stays in this frame.
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Tab" || !isFramed || question.hidden) return;
    const [first, last] = buttons;
    const leaving = event.shiftKey
      ? document.activeElement !== last
      : document.activeElement === last;
    if (!leaving) return;
    event.preventDefault();
    (event.shiftKey ? last : first).focus();
  });
  buttons[0].addEventListener("click", () => answer(true));
  buttons[1].addEventListener("click", () => answer(false));

  window.addEventListener("message", (event) => {
    if (port || event.source !== window.parent || event.data?.type !== "init") return;
    port = event.ports[0];
    port.onmessage = () => title.focus();
    port.postMessage({ type: question.hidden ? "done" : "ready" });
  });

  question.hidden = document.body.dataset.state === "closed";
  if (!isFramed && !question.hidden) title.focus();
})();

// The sheet of the test wallet, in a frame over the merchant's page.
(() => {
  const element = (id) => document.getElementById(id);
  const form = element("sheet");
  const problem = element("problem");
  const buttons = [element("accept"), element("cancel")];
  let port = null;
  let key = "";
  let asks = {};

  const leave = (answer) => port?.postMessage({ type: "done", ...answer });

  async function authorize() {
    const billing = {
      name: element("name").value,
      ...(asks.email ? { email: element("email").value } : {}),
      ...(asks.phone ? { phone: element("phone").value } : {}),
    };
    const body = new URLSearchParams({
      type: "card",
      "card[number]": element("card").value,
      "card[exp_month]": "12",
      "card[exp_year]": String(new Date().getFullYear() + 1),
      "billing_details[name]": billing.name,
    });
    for (const button of buttons) button.disabled = true;
    problem.textContent = "";
    try {
      const response = await fetch("/v1/payment_methods", {
        method: "POST",
        headers: { Authorization: `Bearer ${key}` },
        body,
      });
      const method = await response.json();
      if (!method.error) return leave({ method, billingDetails: billing });
      problem.textContent = method.error.message;
    } catch {
      problem.textContent = "La cartera no responde. Inténtalo de nuevo.";
    }
    for (const button of buttons) button.disabled = false;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    authorize();
  });
  element("cancel").addEventListener("click", () => leave({}));

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave({});
    // The page behind is covered, so the Tab key stays in this frame.
    if (event.key !== "Tab") return;
    const focusable = [...form.querySelectorAll("select, input, button")].filter(
      (one) => !one.closest("[hidden]") && !one.disabled,
    );
    const [first, last] = [focusable[0], focusable.at(-1)];
    const outside = !focusable.includes(document.activeElement);
    const leaving = event.shiftKey
      ? outside || document.activeElement === first
      : document.activeElement === last;
    if (!leaving) return;
    event.preventDefault();
    (event.shiftKey ? last : first).focus();
  });

  window.addEventListener("message", (event) => {
    if (port || event.source !== window.parent || event.data?.type !== "init") return;
    port = event.ports[0];
    port.onmessage = () => element("title").focus();
    const { amount, currency, saves } = event.data;
    ({ key, asks } = event.data);
    const text = new Intl.NumberFormat("es-ES", { style: "currency", currency }).format(
      amount / 100,
    );
    element("amount").textContent = text;
    buttons[0].textContent = `Pagar ${text}`;
    element("saves").hidden = !saves;
    element("email-field").hidden = !asks.email;
    element("phone-field").hidden = !asks.phone;
    port.postMessage({ type: "ready" });
  });
})();

// The hosted page: the card form of Stripe.js, one request for each attempt, and 3-D Secure.
(() => {
  const form = document.getElementById("checkout");
  const button = document.getElementById("pay");
  const refusal = document.getElementById("refusal");
  const fields = { email: form.elements.email, name: form.elements.name };
  const needsCard = document.body.dataset.needsCard === "true";
  const stripe = window.Stripe(document.body.dataset.key, { locale: "es" });
  const isDark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const elements = stripe.elements({ appearance: { theme: isDark ? "night" : "stripe" } });
  const label = button.textContent;
  const UNREACHABLE = "No se ha podido conectar con la pasarela de pago. Inténtalo de nuevo.";

  function show(name, message) {
    document.getElementById(`${name}-error`).textContent = message;
    if (message) fields[name].setAttribute("aria-invalid", "true");
    else fields[name].removeAttribute("aria-invalid");
  }

  // The first invalid field gets the focus.
  function fieldsAreValid() {
    const problems = {
      email: /^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(fields.email.value.trim())
        ? ""
        : "Escribe una dirección de correo válida.",
      name: !needsCard || fields.name.value.trim() ? "" : "Escribe el nombre del titular.",
    };
    for (const [name, message] of Object.entries(problems)) show(name, message);
    const wrong = Object.keys(problems).find((name) => problems[name]);
    if (wrong) fields[wrong].focus();
    return !wrong;
  }

  function setBusy(isBusy) {
    button.disabled = isBusy;
    button.textContent = isBusy ? "Procesando…" : label;
  }

  function refuse(message) {
    setBusy(false);
    refusal.textContent = message;
  }

  async function request(options, query = "") {
    const response = await fetch(location.pathname + query, options);
    return response.json();
  }

  async function newPaymentMethod(details) {
    const { error: invalid } = await elements.submit();
    if (invalid) return { error: { message: "" } }; // said beside the field
    return stripe.createPaymentMethod({ elements, params: { billing_details: details } });
  }

  async function pay() {
    const details = { email: fields.email.value.trim(), name: fields.name.value.trim() };
    let method = null;
    if (needsCard) {
      const created = await newPaymentMethod(details);
      if (created.error) return refuse(created.error.message);
      method = created.paymentMethod.id;
    }
    let state = await request({
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ payment_method: method, ...details }),
    });
    if (state.client_secret) {
      const { error } = await stripe.handleNextAction({ clientSecret: state.client_secret });
      if (error) return refuse(error.message);
      state = await request({}, "?state");
    }
    if (state.error?.code === "checkout_session_inactive") return location.reload();
    if (state.error) return refuse(stripe._localized(state.error).message);
    if (state.url) location.assign(state.url);
    else refuse(UNREACHABLE);
  }

  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (button.disabled) return;
    refusal.textContent = "";
    if (!fieldsAreValid()) return;
    setBusy(true);
    try {
      await pay();
    } catch {
      refuse(UNREACHABLE);
    }
  });

  for (const name of Object.keys(fields)) {
    fields[name].addEventListener("input", () => show(name, ""));
  }
  // After the browser's back button the session may have ended, and the page must not look busy.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });

  if (needsCard) {
    document.getElementById("card-fields").hidden = false;
    const card = elements.create("payment");
    card.on("ready", () => setBusy(false));
    card.on("loaderror", () => refuse(UNREACHABLE));
    card.mount("#card");
  } else {
    setBusy(false);
  }
})();

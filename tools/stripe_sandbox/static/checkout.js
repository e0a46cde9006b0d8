// The hosted page: the card form of Stripe.js, one request for each attempt, and 3-D Secure.
(() => {
  const form = document.getElementById("checkout");
  const button = document.getElementById("pay");
  const refusal = document.getElementById("refusal");
  const { email, name } = form.elements;
  const stripe = window.Stripe(document.body.dataset.key, { locale: "es" });
  const isDark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  const elements = stripe.elements({ appearance: { theme: isDark ? "night" : "stripe" } });
  const label = button.textContent;
  const UNREACHABLE = "No se ha podido conectar con la pasarela de pago. Inténtalo de nuevo.";

  function show(message) {
    document.getElementById("name-error").textContent = message;
    if (message) name.setAttribute("aria-invalid", "true");
    else name.removeAttribute("aria-invalid");
  }

  function nameIsValid() {
    const isValid = name.value.trim() !== "";
    show(isValid ? "" : "Escribe el nombre del titular.");
    if (!isValid) name.focus();
    return isValid;
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
    const details = { email: email.value, name: name.value.trim() };
    const created = await newPaymentMethod(details);
    if (created.error) return refuse(created.error.message);
    let state = await request({
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ payment_method: created.paymentMethod.id, name: details.name }),
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
    if (!nameIsValid()) return;
    setBusy(true);
    try {
      await pay();
    } catch {
      refuse(UNREACHABLE);
    }
  });

  name.addEventListener("input", () => show(""));
  // After the browser's back button the session may have ended, and the page must not look busy.
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });

  const card = elements.create("payment");
  card.on("ready", () => setBusy(false));
  card.on("loaderror", () => refuse(UNREACHABLE));
  card.mount("#card");
})();

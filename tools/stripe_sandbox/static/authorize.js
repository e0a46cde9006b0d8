// The page of Bizum or PayPal. Each answer sends the buyer back to the merchant's page.
(() => {
  const outcome = document.getElementById("outcome");
  const buttons = [...document.querySelectorAll("[data-decision]")];

  async function answer(decision) {
    for (const button of buttons) button.disabled = true;
    outcome.textContent = "Un momento…";
    try {
      const response = await fetch(location.pathname, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ decision }),
      });
      if (!response.ok) throw new Error(String(response.status));
      const { return_url: address } = await response.json();
      location.assign(address);
    } catch {
      outcome.textContent = "Esta autorización ya no sirve. Vuelve a la tienda.";
    }
  }

  for (const button of buttons) {
    button.addEventListener("click", () => answer(button.dataset.decision));
  }
  document.getElementById("title").focus();
})();

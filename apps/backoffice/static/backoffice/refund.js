// Fills in the amount of a refund from the lines that are ticked. Without JavaScript the server does
// so when the amount is left empty.
(() => {
  const form = document.querySelector("form[data-refund]");
  const amount = form?.elements.namedItem("amount");
  form?.addEventListener("change", ({ target }) => {
    if (!amount || target.name !== "lines") return;
    const ticked = [...form.querySelectorAll("input[name='lines']:checked")];
    const cents = ticked.reduce((sum, box) => sum + Number(box.dataset.cents), 0);
    amount.value = cents
      ? `${Math.floor(cents / 100)},${String(cents % 100).padStart(2, "0")}`
      : "";
  });
})();

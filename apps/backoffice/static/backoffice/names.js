// Gives a name to the parts of Django's widgets that have none: the look-up fields (select2) and the
// icons of the choice of many.
(() => {
  const nameParts = (root) => {
    for (const select of root.querySelectorAll("select.admin-autocomplete")) {
      const label = document.querySelector(`label[for="${select.id}"]`);
      const box = select.nextElementSibling;
      if (!label || !box?.classList.contains("select2-container")) continue;
      const name = label.textContent.trim().replace(/:$/, "");
      const parts = box.querySelectorAll(
        ".select2-selection--single, .select2-selection__rendered[role=textbox], .select2-search__field",
      );
      for (const part of parts) part.setAttribute("aria-label", name);
    }
    for (const icon of root.querySelectorAll(".search-label-icon:not([role])")) {
      icon.setAttribute("role", "img");
    }
  };

  // After Django's scripts, which make the parts when the document is ready.
  window.addEventListener("load", () => nameParts(document));
  document.addEventListener("formset:added", (event) => nameParts(event.target));
  // select2 draws the choice of many again whenever it is opened or changed.
  document.addEventListener("focusin", ({ target }) => {
    const box = target.closest?.(".select2-container");
    if (box?.parentElement) nameParts(box.parentElement);
  });
})();

// Gives a name to the parts of Django's widgets that have none: the look-up fields (select2) and the
// icons of the choice of many.
(() => {
  const nameOf = (field) => {
    const label =
      document.querySelector(`label[for="${field?.id}"]`) ??
      field?.closest(".form-row, p")?.querySelector("label");
    return label?.textContent.trim().replace(/:$/, "") ?? "";
  };

  const nameParts = (root) => {
    for (const box of root.querySelectorAll(".select2-container")) {
      const select = box.previousElementSibling;
      const label = nameOf(select);
      if (!label) continue;
      const parts = box.querySelectorAll(
        ".select2-selection--single, .select2-selection__rendered[role=textbox], .select2-search__field",
      );
      for (const part of parts) part.setAttribute("aria-label", label);
    }
    for (const part of root.querySelectorAll(".datetime input:not([aria-label])")) {
      const kind = part.classList.contains("vDateField") ? "fecha" : "hora";
      part.setAttribute("aria-label", `${nameOf(part)}: ${kind}`);
    }
    // The button that clears a choice of many is no item, so the choice is no list.
    for (const list of root.querySelectorAll("ul.select2-selection__rendered")) {
      list.setAttribute("role", "group");
      for (const item of list.querySelectorAll("li:not([role])")) {
        item.setAttribute("role", "presentation");
      }
    }
    for (const icon of root.querySelectorAll(".search-label-icon:not([role])")) {
      icon.setAttribute("role", "img");
    }
  };

  // Django's scripts draw the parts some time after the page has loaded, and again on changes.
  new MutationObserver(() => nameParts(document)).observe(document.body, {
    childList: true,
    subtree: true,
  });
  nameParts(document);
})();

// Shows the page's entry of a menu that is longer than the window.
document.querySelector('#navegacion [aria-current="page"]')?.scrollIntoView({ block: "nearest" });

// Django's scripts address the reader as "usted".
Object.assign(globalThis.django?.catalog ?? {}, {
  'Choose %s by selecting them and then select the "Choose" arrow button.':
    "Márcalos y pulsa la flecha para ponerlos.",
  'Remove %s by selecting them and then select the "Remove" arrow button.':
    "Márcalos y pulsa la flecha para quitarlos.",
  "Type into this box to filter down the list of available %s.": "Escribe para buscar en la lista.",
  "Type into this box to filter down the list of selected %s.": "Escribe para buscar en la lista.",
  "Choose a Date": "Elige un día",
  "Choose a Time": "Elige una hora",
  "Choose a time": "Elige una hora",
});

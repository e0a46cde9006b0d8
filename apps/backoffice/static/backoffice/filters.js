// Closes the open filter of a list when the page is clicked elsewhere, or by Escape.
(() => {
  const opened = () => document.querySelector("#changelist-filter details[open]");

  document.addEventListener("click", ({ target }) => {
    const filter = opened();
    if (filter && !filter.contains(target)) filter.open = false;
  });
  document.addEventListener("keydown", ({ key }) => {
    const filter = key === "Escape" && opened();
    if (!filter) return;
    filter.open = false;
    filter.querySelector("summary").focus();
  });
})();

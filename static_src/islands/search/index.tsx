/**
 * Suggestions under the header's search field, as a combobox with a list box
 * (https://www.w3.org/WAI/ARIA/apg/patterns/combobox/). Without it the form leads to /buscar.
 */
type Suggestion = { name: string; detail: string; url: string };

const DEBOUNCE_MS = 150;

export default function startSearch(element: HTMLElement): void {
  const input = element.querySelector("input") as HTMLInputElement;
  const list = element.querySelector("ul") as HTMLElement;
  const status = element.querySelector("[role=status]") as HTMLElement;
  let active = -1;
  let timer: ReturnType<typeof setTimeout>;

  const mark = (index: number) => {
    active = index;
    [...list.children].forEach((option, place) => {
      option.ariaSelected = String(place === index);
    });
    const option = list.children[index];
    option?.scrollIntoView({ block: "nearest" });
    input.setAttribute("aria-activedescendant", option?.id ?? "");
  };
  const show = (suggestions: Suggestion[]) => {
    list.replaceChildren(...suggestions.map(option));
    input.ariaExpanded = String(suggestions.length > 0);
    status.textContent = suggestions[0] ? `Sugerencias: ${suggestions.length}` : "";
    mark(-1);
  };
  const load = async () => {
    const text = input.value.trim();
    if (!text) return show([]);
    try {
      const answer = await fetch(`/api/suggestions?q=${encodeURIComponent(text)}`);
      // Too many searches of one address are refused.
      const { suggestions } = answer.ok ? await answer.json() : { suggestions: [] };
      // An answer that comes late belongs to an earlier text.
      if (text === input.value.trim()) show(suggestions);
    } catch {
      // The network failed: the form still works.
    }
  };
  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(load, DEBOUNCE_MS);
  });
  input.addEventListener("keydown", (event) => {
    const { key } = event;
    const count = list.children.length;
    const marked = list.children[active] as HTMLElement | undefined;
    if (!count) return;
    const step = { ArrowDown: 1, ArrowUp: count }[key];
    if (key === "Escape") {
      show([]);
      event.stopPropagation();
    } else if (key === "Enter" && marked) marked.click();
    // After the last option, and before the first, none is marked.
    else if (step) mark(((active + 1 + step) % (count + 1)) - 1);
    else return;
    event.preventDefault();
  });
  input.addEventListener("blur", () => show([]));
  // Keep the focus in the field: its loss would close the list before the click.
  list.addEventListener("pointerdown", (event) => event.preventDefault());
  load();
}

function option({ name, detail, url }: Suggestion, index: number): HTMLElement {
  const item = document.createElement("li");
  const small = document.createElement("small");
  item.role = "option";
  item.onclick = () => location.assign(url);
  item.id = `sugerencia-${index}`;
  small.textContent = detail;
  item.append(`${name} `, small);
  return item;
}

import { type FormEvent, useEffect, useEffectEvent, useRef, useState } from "react";
import { SearchIcon } from "../../lib/icons";
import type { Degree, University } from "../../schemas/universities";
import { type Debounced, debounce } from "./debounce";
import { type CatalogueQuery, cleanSearch } from "./query";
import type { HistoryStep } from "./useCatalogueQuery";

const SEARCH_DEBOUNCE_MS = 300;

type Props = {
  universities: University[];
  degrees: Degree[];
  query: CatalogueQuery;
  onChange: (change: Partial<CatalogueQuery>, step?: HistoryStep) => void;
};

/** The filters. University and degree apply at once, the search when typing pauses. */
export function Filters({ universities, degrees, query, onChange }: Props) {
  const [text, setText] = useSearchText(query.search, (search, step) =>
    onChange({ search, page: 1 }, step),
  );

  return (
    <search>
      <form
        className="filters"
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          setText.flush();
        }}
      >
        <div className="field">
          <label className="field__label" htmlFor="universidad">
            Universidad
          </label>
          <select
            id="universidad"
            className="input"
            value={query.universityId ?? ""}
            onChange={({ target }) =>
              onChange({ universityId: Number(target.value), degreeId: null, page: 1 })
            }
          >
            {query.universityId === null && <option value="">Próximamente</option>}
            {universities.map(({ id, name, acronym, comingSoon }) => (
              <option key={id} value={id} disabled={comingSoon}>
                {`${name} (${acronym})${comingSoon ? " · Próximamente" : ""}`}
              </option>
            ))}
          </select>
        </div>
        <div className="field">
          <label className="field__label" htmlFor="carrera">
            Carrera
          </label>
          <select
            id="carrera"
            className="input"
            value={query.degreeId ?? ""}
            onChange={({ target }) =>
              onChange({ degreeId: target.value ? Number(target.value) : null, page: 1 })
            }
          >
            <option value="">Todas las carreras</option>
            {degrees.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </div>
        <div className="field">
          <label className="field__label" htmlFor="buscar">
            Buscar asignatura
          </label>
          <div className="filters__search">
            <SearchIcon />
            <input
              id="buscar"
              className="input"
              type="search"
              placeholder="Por nombre"
              autoComplete="off"
              maxLength={100}
              value={text}
              onChange={({ target }) => setText(target.value)}
            />
          </div>
        </div>
        <button
          type="button"
          className="button button--quiet"
          onClick={() => {
            setText.reset();
            onChange({ degreeId: null, search: "", page: 1 });
          }}
        >
          Limpiar filtros
        </button>
      </form>
    </search>
  );
}

type SearchSetter = ((text: string) => void) & { flush(): void; reset(): void };

/**
 * The text of the search field, reported when typing pauses. Starting a search adds an entry to the
 * browser's history; further typing replaces that entry, so that the back button leaves the search.
 */
function useSearchText(
  search: string,
  report: (search: string, step: HistoryStep) => void,
): [string, SearchSetter] {
  // Keep what was typed into the field of the server's HTML before React replaced it.
  const [text, setText] = useState(
    () => document.querySelector<HTMLInputElement>("input#buscar")?.value ?? search,
  );
  const reported = useRef(search);

  const reportChange = useEffectEvent((typed: string) => {
    const next = cleanSearch(typed);
    if (next === reported.current) return;
    const step = reported.current === "" ? "push" : "replace";
    reported.current = next;
    report(next, step);
  });
  const later = useRef<Debounced<[string]> | null>(null);
  const initialText = useEffectEvent(() => text);
  useEffect(() => {
    later.current = debounce((typed: string) => reportChange(typed), SEARCH_DEBOUNCE_MS);
    later.current(initialText());
    return () => later.current?.cancel();
  }, []);

  // The back and forward buttons and "Limpiar filtros" change the search from outside.
  useEffect(() => {
    if (search === reported.current) return;
    reported.current = search;
    later.current?.cancel();
    setText(search);
  }, [search]);

  const type = (typed: string) => {
    setText(typed);
    later.current?.(typed);
  };
  const setter = Object.assign(type, {
    flush: () => later.current?.flush(),
    reset: () => {
      later.current?.cancel();
      reported.current = "";
      setText("");
    },
  });
  return [text, setter];
}

import {
  type MouseEvent,
  type ReactNode,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
} from "react";
import { get } from "../../lib/http/api";
import { type Resource, type ResourceCache, useResource } from "../../lib/http/resource";
import { NextIcon, PreviousIcon } from "../../lib/icons";
import { type Cart, lineOf } from "../../lib/pricing/cart";
import { CataloguePage, type CatalogueSubject } from "../../schemas/catalogue";
import type { Pricing } from "../../schemas/pricing";
import {
  type CatalogueQuery,
  cataloguePath,
  EVERYTHING,
  ORDERS,
  PAGE_SIZES,
  pageNumbers,
  parseOrder,
  parsePageSize,
} from "./query";
import { SubjectCard } from "./SubjectCard";
import type { HistoryStep } from "./useCatalogueQuery";

/** The empty result while no university is open. */
const NO_SUBJECTS: Resource<CataloguePage> = {
  status: "ready",
  data: { count: 0, page: 1, pages: 1, results: [] },
};
const SLOW_MS = 5_000;
const REQUEST = "#solicitar-asignatura";
const SKELETONS = ["a", "b", "c", "d", "e", "f"];

type CartProps = {
  /** Whether a university will open soon. */
  announced: boolean;
  pricing: Pricing;
  /** Subjects that the checkout has found changed since they were loaded. */
  changed: ReadonlyMap<number, CatalogueSubject>;
  cart: Cart;
  onToggleLesson: (subject: CatalogueSubject, lessonId: number) => void;
  onToggleAll: (subject: CatalogueSubject) => void;
  /** Open the payment dialog. */
  onPay: () => void;
};

type Props = CartProps & {
  cache: ResourceCache<CataloguePage>;
  query: CatalogueQuery;
  onChange: (change: Partial<CatalogueQuery>, step?: HistoryStep) => void;
};

/**
 * The subjects that match the filters, in pages. With "Todas", further pages load while scrolling.
 */
export function Results({ cache, query, onChange, ...cartProps }: Props) {
  const heading = useRef<HTMLHeadingElement>(null);
  const first = useCataloguePage(cache, query, query.page);
  const everything = query.pageSize === EVERYTHING;

  // For a page number beyond the last page the server returns the last page: correct the address.
  const onAnswer = useEffectEvent((page: CataloguePage) => {
    if (everything || page.page === query.page) return;
    cache.put(cataloguePath(query, page.page), page);
    onChange({ page: page.page }, "replace");
  });
  const answer = first.status === "ready" ? first.data : null;
  useEffect(() => {
    if (answer) onAnswer(answer);
  }, [answer]);

  const goTo = (page: number) => {
    onChange({ page });
    window.scrollTo({ top: 0, behavior: "instant" });
    heading.current?.focus({ preventScroll: true });
  };

  return (
    <section className="results" aria-labelledby="resultados" aria-busy={answer === null}>
      <div className="results__head">
        <h2 id="resultados" ref={heading} tabIndex={-1}>
          {answer ? countText(answer.count) : "Asignaturas"}
        </h2>
        <div className="results__options">
          <label className="results__size">
            <span>Ordenar por</span>
            <select
              className="input"
              value={query.order}
              onChange={({ target }) => onChange({ order: parseOrder(target.value), page: 1 })}
            >
              {Object.entries(ORDERS).map(([value, label]) => (
                <option key={value} value={value}>
                  {label}
                </option>
              ))}
            </select>
          </label>
          <label className="results__size">
            <span>Por página</span>
            <select
              className="input"
              value={query.pageSize}
              onChange={({ target }) =>
                onChange({ pageSize: parsePageSize(target.value), page: 1 })
              }
            >
              {PAGE_SIZES.map((size) => (
                <option key={size}>{size}</option>
              ))}
              <option value={EVERYTHING}>Todas</option>
            </select>
          </label>
        </div>
      </div>
      <p className="visually-hidden" role="status">
        {announcement(first)}
      </p>
      {everything ? (
        <EveryPage
          key={cataloguePath(query)}
          cache={cache}
          query={query}
          first={first}
          {...cartProps}
        />
      ) : (
        <PageOfSubjects resource={first} search={query.search} {...cartProps} />
      )}
      {answer && !everything && answer.pages > 1 && (
        <Pager page={answer.page} pages={answer.pages} onGoTo={goTo} />
      )}
    </section>
  );
}

function useCataloguePage(
  cache: ResourceCache<CataloguePage>,
  query: CatalogueQuery,
  page: number,
): Resource<CataloguePage> {
  const path = query.universityId === null ? null : cataloguePath(query, page);
  const resource = useResource(cache, path, (signal) => get(path ?? "", CataloguePage, { signal }));
  return path === null ? NO_SUBJECTS : resource;
}

/** Where to look after nothing was found. The request of a subject is below the catalogue. */
function WhereElse({ search, announced }: { search: string; announced: boolean }) {
  return (
    <p>
      Prueba con otra palabra o con otra carrera
      {search && (
        <>
          ,{" "}
          <a href={`/buscar?q=${encodeURIComponent(search)}`}>
            búscala por profesor, código, semestre o universidad
          </a>
        </>
      )}{" "}
      o{" "}
      <a href={REQUEST} onClick={openRequest}>
        pídenosla
      </a>
      .
      {announced && (
        <>
          {" "}
          ¿Tu universidad llega próximamente? <a href="/avisame">Te avisamos</a>.
        </>
      )}
    </p>
  );
}

/** Open the request without a change of the address, which would count as a step of the history. */
function openRequest(event: MouseEvent) {
  const details = document.querySelector(REQUEST)?.closest("details");
  if (!details) return;
  event.preventDefault();
  details.open = true;
  details.querySelector("summary")?.focus();
}

type PageProps = CartProps & { resource: Resource<CataloguePage>; search: string };

function PageOfSubjects({ resource, search, announced, cart, changed, ...cartProps }: PageProps) {
  if (resource.status === "loading") {
    return (
      <>
        <SlowNotice onRetry={resource.retry} />
        <Grid>
          {SKELETONS.map((name) => (
            <SkeletonCard key={name} />
          ))}
        </Grid>
      </>
    );
  }
  if (resource.status === "failed") {
    return (
      <div className="notice notice--error">
        <p>{failure()}</p>
        <button type="button" className="button button--quiet" onClick={resource.retry}>
          Volver a intentarlo
        </button>
      </div>
    );
  }
  if (resource.data.results.length === 0) {
    return (
      <div className="results__empty">
        <p>
          <strong>No se encontraron asignaturas</strong>
        </p>
        {resource === NO_SUBJECTS ? (
          <p>Estamos preparando el catálogo. Vuelve pronto.</p>
        ) : (
          <WhereElse search={search} announced={announced} />
        )}
      </div>
    );
  }
  return (
    <Grid>
      {resource.data.results.map((subject) => (
        <SubjectCard
          key={subject.id}
          subject={changed.get(subject.id) ?? subject}
          line={lineOf(cart, subject.id)}
          {...cartProps}
        />
      ))}
    </Grid>
  );
}

/** What the visitor reads, and may press, when an answer takes long. */
function SlowNotice({ onRetry }: { onRetry: () => void }) {
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    if (slow) return;
    const timer = setTimeout(() => setSlow(true), SLOW_MS);
    return () => clearTimeout(timer);
  }, [slow]);
  const retry = () => {
    setSlow(false);
    onRetry();
  };
  return (
    <div role="status">
      {slow && (
        <div className="notice notice--warning results__slow">
          <p>Tu conexión va lenta. Seguimos cargando las asignaturas.</p>
          <button type="button" className="button button--quiet" onClick={retry}>
            Volver a intentarlo
          </button>
        </div>
      )}
    </div>
  );
}

const Grid = ({ children }: { children: ReactNode }) => <ul className="subjects">{children}</ul>;

const SkeletonCard = () => (
  <li className="card subject subject--skeleton" aria-hidden="true">
    <span className="skeleton" />
    <span className="skeleton" />
    <span className="skeleton" />
    <span className="skeleton" />
    <span className="skeleton" />
  </li>
);

type EveryPageProps = CartProps & {
  cache: ResourceCache<CataloguePage>;
  query: CatalogueQuery;
  first: Resource<CataloguePage>;
};

/** All subjects: each next page loads when the end of the list is near the visible area. */
function EveryPage({ cache, query, first, ...cartProps }: EveryPageProps) {
  const [shown, setShown] = useState(1);
  const pages = first.status === "ready" ? first.data.pages : 1;
  const further = Array.from({ length: shown - 1 }, (_, index) => index + 2);
  return (
    <div className="results__pages">
      <PageOfSubjects resource={first} search={query.search} {...cartProps} />
      {further.map((page) => (
        <FurtherPage key={page} cache={cache} query={query} page={page} {...cartProps} />
      ))}
      {shown < pages && <EndOfList key={shown} onNear={() => setShown(shown + 1)} />}
    </div>
  );
}

function FurtherPage({
  cache,
  query,
  page,
  ...cartProps
}: Omit<EveryPageProps, "first"> & { page: number }) {
  const resource = useCataloguePage(cache, query, page);
  return <PageOfSubjects resource={resource} search={query.search} {...cartProps} />;
}

function EndOfList({ onNear }: { onNear: () => void }) {
  const mark = useRef<HTMLDivElement>(null);
  const near = useEffectEvent(onNear);
  useEffect(() => {
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) near();
      },
      { rootMargin: "600px" },
    );
    if (mark.current) observer.observe(mark.current);
    return () => observer.disconnect();
  }, []);
  return <div ref={mark} />;
}

function Pager(props: { page: number; pages: number; onGoTo: (page: number) => void }) {
  const { page, pages, onGoTo } = props;
  return (
    <nav className="pager" aria-label="Páginas del catálogo">
      <button
        type="button"
        className="button button--plain"
        disabled={page === 1}
        onClick={() => onGoTo(page - 1)}
      >
        <PreviousIcon />
        Anterior
      </button>
      <ol className="pager__numbers">
        {pageNumbers(page, pages).map((number, index) =>
          number === null ? (
            // biome-ignore lint/suspicious/noArrayIndexKey: gaps have no other key
            <li key={`gap-${index}`} className="pager__gap">
              …
            </li>
          ) : (
            <li key={number}>
              <button
                type="button"
                className="pager__number"
                aria-label={`Página ${number}`}
                aria-current={number === page ? "page" : undefined}
                onClick={() => onGoTo(number)}
              >
                {number}
              </button>
            </li>
          ),
        )}
      </ol>
      <button
        type="button"
        className="button button--plain"
        disabled={page === pages}
        onClick={() => onGoTo(page + 1)}
      >
        Siguiente
        <NextIcon />
      </button>
    </nav>
  );
}

const failure = () =>
  navigator.onLine
    ? "No hemos podido cargar las asignaturas."
    : "No tienes conexión a internet. Cuando vuelva, inténtalo otra vez.";

const countText = (count: number) => (count === 1 ? "1 asignatura" : `${count} asignaturas`);

function announcement(resource: Resource<CataloguePage>): string {
  if (resource.status === "loading") return "Cargando asignaturas";
  if (resource.status === "failed") return failure();
  const { count, page, pages } = resource.data;
  if (count === 0) return "No se encontraron asignaturas";
  return `${countText(count)}, página ${page} de ${pages}`;
}

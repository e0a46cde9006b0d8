import { useEffect, useEffectEvent, useState } from "react";
import * as z from "zod/mini";
import { type ApiError, get } from "../../lib/api";
import { type CartLine, toggleAll, toggleLesson } from "../../lib/cart";
import { ResourceCache, useResource } from "../../lib/resource";
import { toast } from "../../lib/toast";
import type { Academy } from "../../schemas/academy";
import {
  type CataloguePage,
  CatalogueSubject,
  Degree,
  type University,
} from "../../schemas/catalogue";
import type { Pricing } from "../../schemas/pricing";
import { CartPanel } from "./CartPanel";
import { Checkout } from "./Checkout";
import { Filters } from "./Filters";
import { type CatalogueQuery, cataloguePath } from "./query";
import { Results } from "./Results";
import { useCatalogueQuery } from "./useCatalogueQuery";

type Props = {
  universities: University[];
  degrees: Degree[];
  page: CataloguePage;
  pricing: Pricing;
  academy: Academy;
  query: CatalogueQuery;
};

const Degrees = z.array(Degree);
const Quoted = z.object({ subjects: z.array(CatalogueSubject) });
const degreesPath = (universityId: number) => `/api/degrees?university_id=${universityId}`;

/** /compra once it is alive: filters, subjects, cart. The cart is this page's and goes with it. */
export function Catalogue(props: Props) {
  const { universities, pricing } = props;
  const openIds = universities.filter(({ comingSoon }) => !comingSoon).map(({ id }) => id);
  const [query, changeQuery] = useCatalogueQuery(props.query, openIds);
  const [cart, setCart] = useState<CartLine[]>([]);

  useQuotedSubjects((subjects) => {
    const lines = subjects.map((subject) => ({ subject, lessonIds: [] }));
    const quoted = new Set(subjects.map(({ id }) => id));
    setCart((before) => [...before.filter(({ subject }) => !quoted.has(subject.id)), ...lines]);
  });

  // The server's HTML already shows these answers: they are not asked for again.
  const [pages] = useState(() => {
    const cache = new ResourceCache<CataloguePage>();
    cache.put(cataloguePath(props.query), props.page);
    return cache;
  });
  const [degreeLists] = useState(() => {
    const cache = new ResourceCache<Degree[]>();
    if (props.query.universityId !== null) {
      cache.put(degreesPath(props.query.universityId), props.degrees);
    }
    return cache;
  });
  const degreesKey = query.universityId === null ? null : degreesPath(query.universityId);
  const degrees = useResource(degreeLists, degreesKey, (signal) =>
    get(degreesKey ?? "", Degrees, { signal }),
  );

  return (
    <>
      <Filters
        universities={universities}
        degrees={degrees.status === "ready" ? degrees.data : []}
        query={query}
        onChange={changeQuery}
      />
      <div className="compra__columns">
        <Results
          cache={pages}
          query={query}
          onChange={changeQuery}
          cart={cart}
          onToggleLesson={(subject, lessonId) => setCart(toggleLesson(cart, subject, lessonId))}
          onToggleAll={(subject) => setCart(toggleAll(cart, subject))}
        />
        <CartPanel cart={cart} pricing={pricing} onChange={setCart} />
      </div>
      <Checkout cart={cart} onCartChange={setCart} pricing={pricing} academy={props.academy} />
    </>
  );
}

/** The subjects of the quote that the mail's link names, complete: /compra?presupuesto=…. */
function useQuotedSubjects(onRead: (subjects: CatalogueSubject[]) => void): void {
  const read = useEffectEvent(onRead);
  useEffect(() => {
    const quote = new URLSearchParams(window.location.search).get("presupuesto");
    if (!quote) return;
    get(`/api/quotes?presupuesto=${encodeURIComponent(quote)}`, Quoted).then(
      ({ subjects }) => read(subjects),
      (error: ApiError) => toast({ title: "Error", text: error.message, tone: "error" }),
    );
  }, []);
}

import { useCallback, useEffect, useEffectEvent, useState } from "react";
import * as z from "zod/mini";
import { get } from "../../lib/api";
import { type CartLine, toggleAll, toggleLesson } from "../../lib/cart";
import type { Offer } from "../../lib/offer";
import { ResourceCache, useResource } from "../../lib/resource";
import { toast } from "../../lib/toast";
import type { Academy } from "../../schemas/academy";
import {
  type CataloguePage,
  type CatalogueSubject,
  Degree,
  QuotedCart,
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
  chosen: { subject: CatalogueSubject | null } | null;
};

const GONE = "La asignatura del enlace no está a la venta en este momento.";
const Degrees = z.array(Degree);
const degreesPath = (universityId: number) => `/api/degrees?university_id=${universityId}`;

/** /compra once it is alive: filters, subjects, cart. The cart is this page's and goes with it. */
export function Catalogue(props: Props) {
  const { universities, pricing } = props;
  const openIds = universities.filter(({ comingSoon }) => !comingSoon).map(({ id }) => id);
  const [query, changeQuery] = useCatalogueQuery(props.query, openIds);
  const { chosen } = props;
  // The link may name one subject (/compra?asignatura=7); the server has looked it up.
  const [cart, setCart] = useState<CartLine[]>(() =>
    chosen?.subject ? toggleAll([], chosen.subject) : [],
  );
  useEffect(() => {
    if (chosen && !chosen.subject) toast({ title: GONE, tone: "info" });
  }, [chosen]);
  const [code] = useState(() => new URLSearchParams(window.location.search).get("codigo") ?? "");

  const [offer, setOffer] = useState<Offer | null>(null);
  const [quoteNotice, setQuoteNotice] = useState<string | null>(null);
  useQuotedCart(({ subjects, notice }, offer) => {
    const lines = subjects.map((subject) => ({ subject, lessonIds: [] }));
    const quoted = new Set(subjects.map(({ id }) => id));
    setCart((before) => [...before.filter(({ subject }) => !quoted.has(subject.id)), ...lines]);
    setOffer(offer);
    setQuoteNotice(notice);
    // An empty cart would show no notice.
    if (notice) toast({ title: notice, tone: "info" });
  });

  const onToggleLesson = useCallback(
    (subject: CatalogueSubject, lessonId: number) =>
      setCart((before) => toggleLesson(before, subject, lessonId)),
    [],
  );
  const onToggleAll = useCallback(
    (subject: CatalogueSubject) => setCart((before) => toggleAll(before, subject)),
    [],
  );

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
          onToggleLesson={onToggleLesson}
          onToggleAll={onToggleAll}
        />
        <CartPanel
          cart={cart}
          pricing={pricing}
          offer={offer}
          quoteNotice={quoteNotice}
          onChange={setCart}
        />
      </div>
      <Checkout
        cart={cart}
        onCartChange={setCart}
        pricing={pricing}
        academy={props.academy}
        offer={offer}
        code={code}
      />
    </>
  );
}

/** The quote that the mail's link names, with its subjects complete: /compra?presupuesto=…. */
function useQuotedCart(onRead: (cart: QuotedCart, offer: Offer | null) => void): void {
  const read = useEffectEvent(onRead);
  useEffect(() => {
    const key = new URLSearchParams(window.location.search).get("presupuesto");
    if (!key) return;
    Promise.all([
      get(`/api/quotes?presupuesto=${encodeURIComponent(key)}`, QuotedCart),
      import("../../lib/offer"),
    ]).then(
      ([cart, { makeOffer }]) => read(cart, cart.terms && makeOffer(key, cart.terms)),
      (error: Error) => toast({ title: "Error", text: error.message, tone: "error" }),
    );
  }, []);
}

import { useCallback, useEffect, useEffectEvent, useRef, useState } from "react";
import * as z from "zod/mini";
import { get } from "../../lib/http/api";
import { ResourceCache, useResource } from "../../lib/http/resource";
import { toast } from "../../lib/page/toast";
import type { BindingQuote } from "../../lib/pricing/bindingQuote";
import {
  activeLessons,
  type CartLine,
  isComplete,
  lineOf,
  toggleAll,
  toggleLesson,
  withoutUnavailable,
} from "../../lib/pricing/cart";
import type { Academy } from "../../schemas/academy";
import { type CataloguePage, type CatalogueSubject, QuotedCart } from "../../schemas/catalogue";
import type { UnavailableItem } from "../../schemas/checkout";
import type { Pricing } from "../../schemas/pricing";
import { Degree, type University } from "../../schemas/universities";
import { useUnfinishedPurchase } from "../payment/dialogLoading";
import { CartPanel, useClearing } from "./CartPanel";
import { Checkout, useCheckout } from "./Checkout";
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

const NOT_ON_SALE = "La asignatura del enlace no está a la venta en este momento.";
const Degrees = z.array(Degree);
const degreesPath = (universityId: number) => `/api/degrees?university_id=${universityId}`;

/** The page /compra: filters, subjects and cart. The cart exists in this page only. */
export function Catalogue(props: Props) {
  const { universities, pricing } = props;
  const openIds = universities.filter(({ comingSoon }) => !comingSoon).map(({ id }) => id);
  const [query, changeQuery] = useCatalogueQuery(props.query, openIds);
  const { chosen } = props;
  // The page's link may name a subject, which the server has loaded.
  const [cart, setCart] = useState<CartLine[]>(() =>
    withEarlyChoices(chosenInLink(chosen?.subject, props.page.results), props.page.results),
  );
  useEffect(() => {
    if (chosen && !chosen.subject) toast({ title: NOT_ON_SALE, tone: "info" });
  }, [chosen]);
  const [code] = useState(() => new URLSearchParams(window.location.search).get("codigo") ?? "");

  const [bindingQuote, setBindingQuote] = useState<BindingQuote | null>(null);
  const [quoteNotice, setQuoteNotice] = useState<string | null>(null);
  useQuotedCart(({ subjects, notice }, bindingQuote) => {
    const lines = subjects.map((subject) => ({ subject, lessonIds: [] }));
    const quoted = new Set(subjects.map(({ id }) => id));
    setCart((before) => [...before.filter(({ subject }) => !quoted.has(subject.id)), ...lines]);
    setBindingQuote(bindingQuote);
    setQuoteNotice(notice);
    // Also as a toast, because an empty cart shows no notice.
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

  // Subjects whose prices or lessons the checkout has found changed. Their cards show them so.
  const [changed, setChanged] = useState<ReadonlyMap<number, CatalogueSubject>>(new Map());
  const noteChanged = (subjects: CatalogueSubject[]) =>
    setChanged((before) => new Map([...before, ...subjects.map((one) => [one.id, one] as const)]));
  const onPriced = (priced: CartLine[]) => {
    setCart(priced);
    noteChanged(
      priced
        .map(({ subject }) => subject)
        .filter((subject) => cart.every((line) => line.subject !== subject)),
    );
  };
  const onUnavailable = (items: UnavailableItem[]) =>
    noteChanged(
      cart
        .filter(({ subject }) => items.some(({ subjectId }) => subjectId === subject.id))
        .map(({ subject }) => withoutUnavailable(subject, items)),
    );

  const unfinished = useUnfinishedPurchase(() => import("../payment/UnfinishedPurchase"));
  const clearing = useClearing(cart, setCart);
  const checkout = useCheckout();
  const pay = useRef(checkout.pay);
  pay.current = checkout.pay;
  const onPay = useCallback(() => void pay.current(), []);

  // Fill the caches with the data that the server's HTML already shows.
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
      {/* A new choice takes the place of the old one: the floating button stands there. */}
      {cart.length === 0 && unfinished}
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
          announced={openIds.length < universities.length}
          pricing={pricing}
          changed={changed}
          cart={cart}
          onToggleLesson={onToggleLesson}
          onToggleAll={onToggleAll}
          onPay={onPay}
        />
        <CartPanel
          cart={cart}
          pricing={pricing}
          bindingQuote={bindingQuote}
          quoteNotice={quoteNotice}
          onChange={setCart}
          clearing={clearing}
          onPay={checkout.pay}
          busy={checkout.loading}
        />
      </div>
      <Checkout
        checkout={checkout}
        clearing={clearing}
        quoteNotice={quoteNotice}
        cart={cart}
        onCartChange={onPriced}
        onUnavailable={onUnavailable}
        pricing={pricing}
        academy={props.academy}
        bindingQuote={bindingQuote}
        code={code}
      />
    </>
  );
}

/**
 * The subject of the page's link, or those of its lessons that /compra?asignatura=7&leccion=31 names.
 * Of several subjects the server has loaded the last; the others are chosen if the list shows them.
 */
function chosenInLink(
  loaded: CatalogueSubject | null | undefined,
  listed: CatalogueSubject[],
): CartLine[] {
  const params = new URLSearchParams(window.location.search);
  const [named, lessons] = [params.getAll("asignatura"), params.getAll("leccion")];
  const others = listed.filter(({ id }) => id !== loaded?.id && named.includes(String(id)));
  return [...others, ...(loaded ? [loaded] : [])].flatMap((subject) => {
    const lessonIds = activeLessons(subject)
      .map(({ id }) => id)
      .filter((id) => !subject.completeOnly && lessons.includes(String(id)));
    return lessonIds.length > 0 ? [{ subject, lessonIds }] : toggleAll([], subject);
  });
}

/** The server's buttons and boxes. They are read also after React has replaced them. */
let served: NodeListOf<Element> | undefined;

/** The cart with what was chosen in the server's HTML, which the page shows until this is mounted. */
function withEarlyChoices(cart: CartLine[], subjects: CatalogueSubject[]): CartLine[] {
  served ??= document.querySelectorAll("[id^=elegir-], [id^=leccion-]");
  const pressed = [...served].filter((one) => one.matches("[aria-busy], :checked"));
  const ids = new Set(pressed.map(({ id }) => id));
  return subjects.reduce((chosen, subject) => {
    const line = lineOf(chosen, subject.id);
    if (line && isComplete(line)) return chosen;
    if (ids.has(`elegir-${subject.id}`)) return toggleAll(chosen, subject);
    return subject.lessons
      .filter(({ id }) => ids.has(`leccion-${id}`) && !line?.lessonIds.includes(id))
      .reduce((more, { id }) => toggleLesson(more, subject, id), chosen);
  }, cart);
}

/** Load the quote of the page's link (/compra?presupuesto=…) with its subjects. */
function useQuotedCart(
  onLoad: (cart: QuotedCart, bindingQuote: BindingQuote | null) => void,
): void {
  const onLoaded = useEffectEvent(onLoad);
  useEffect(() => {
    const key = new URLSearchParams(window.location.search).get("presupuesto");
    if (!key) return;
    Promise.all([
      get(`/api/quotes?presupuesto=${encodeURIComponent(key)}`, QuotedCart),
      import("../../lib/pricing/bindingQuote"),
    ]).then(
      ([cart, { makeBindingQuote }]) =>
        onLoaded(cart, cart.terms && makeBindingQuote(key, cart.terms)),
      (error: Error) => toast({ title: "Error", text: error.message, tone: "error" }),
    );
  }, []);
}

import {
  type ComponentType,
  type FormEvent,
  useEffect,
  useEffectEvent,
  useRef,
  useState,
} from "react";
import { toast } from "../../lib/page/toast";
import {
  activeLessons,
  type CartLine,
  isComplete,
  isTicked,
  toggleAll,
  toggleLesson,
  toPricedItems,
  withoutUnavailable,
} from "../../lib/pricing/cart";
import { campaignFor, campaignName } from "../../lib/pricing/discounts";
import { formatEuros } from "../../lib/pricing/money";
import { quoteCart, subjectCard } from "../../lib/pricing/quote";
import { vatSentence } from "../../lib/pricing/vatNote";
import type { Academy } from "../../schemas/academy";
import type { CatalogueLesson, CatalogueSubject } from "../../schemas/catalogue";
import type { Pricing } from "../../schemas/pricing";
import { preload, reportMissingDialog, useUnfinishedPurchase } from "../payment/dialogLoading";
import type { PaymentDialog } from "../payment/PaymentDialog";

type Props = { subject: CatalogueSubject; pricing: Pricing; academy: Academy };
const loadPaymentDialog = () => import("../payment/PaymentDialog");

type Dialog = ComponentType<Parameters<typeof PaymentDialog>[0]>;

/**
 * The purchase of one subject on its page, complete or by lessons, with the catalogue's payment
 * dialog. `templates/pages/_buy.html` renders the same HTML on the server. Until this is mounted
 * the server's form opens /compra with the same choice.
 */
export function BuySubject({ pricing, academy, ...props }: Props) {
  // The checkout may find prices or lessons changed.
  const [subject, setSubject] = useState(props.subject);
  const [{ cart, single }, setChoice] = useState(() => choiceInPage(subject));
  const [Dialog, setDialog] = useState<Dialog | null>(null);
  const [open, setOpen] = useState(false);
  const [loading, setLoading] = useState(false);
  const button = useRef<HTMLButtonElement>(null);

  const unfinished = useUnfinishedPurchase(() => import("../payment/UnfinishedPurchase"));
  const campaign = campaignFor(pricing, subject.degree.id, "cart");
  const whole = subjectCard(subject.finalPriceCents, subject.totalDiscounts, {
    campaign,
    lowestCents: subject.lowestCents,
  });
  const priceOf = ({ priceCents }: CatalogueLesson) =>
    subjectCard(priceCents, 0, { campaign }).priceCents;
  const prices = activeLessons(subject).map(priceOf);
  const saving = subject.completeOnly ? null : savingInWords(whole.priceCents, prices);
  const total = quoteCart(pricing, toPricedItems(cart), {
    paymentType: "full_payment",
    promo: null,
  }).totalCents;

  const openDialog = async () => {
    if (cart.length === 0) {
      toast({ title: "Marca al menos una lección", tone: "info" });
      button.current?.form?.querySelector<HTMLElement>(".checkbox:enabled")?.focus();
      return;
    }
    setLoading(true);
    try {
      const { PaymentDialog } = await loadPaymentDialog();
      setDialog(() => PaymentDialog);
      setOpen(true);
    } catch (error) {
      reportMissingDialog(error);
    }
    setLoading(false);
  };

  // The visitor pressed the server's button before this component was mounted.
  const openEarly = useEffectEvent(openDialog);
  useEffect(() => {
    const island = document.querySelector<HTMLElement>("[data-island=subject]");
    if (island?.dataset.submitted === undefined) return;
    delete island.dataset.submitted;
    openEarly();
  }, []);

  const setCart = (next: CartLine[]) =>
    setChoice({ cart: next, single: next[0] ? !isComplete(next[0]) : single });

  return (
    <>
      {unfinished}
      <form
        className="card buy"
        aria-labelledby="comprar"
        onSubmit={(event: FormEvent) => {
          event.preventDefault();
          openDialog();
        }}
      >
        <h2 id="comprar">Elige cómo estudiarla</h2>
        <fieldset>
          <legend className="visually-hidden">Qué compras</legend>
          <label className="buy__way">
            <input
              id="completa"
              type="radio"
              name="modo"
              checked={!single}
              onChange={() => setChoice({ cart: toggleAll([], subject), single: false })}
            />
            <span>Asignatura completa</span>
            <span className="buy__price">
              {whole.listPriceCents > whole.priceCents && (
                <s className="price price--list">
                  <span className="visually-hidden">Antes: </span>
                  {formatEuros(whole.listPriceCents)}
                </s>
              )}{" "}
              <strong className="price">{formatEuros(whole.priceCents)}</strong>
            </span>
          </label>
          {saving && (
            <p className="buy__saving">
              <strong>Ahorras {formatEuros(saving.cents)}</strong> frente a las lecciones sueltas.{" "}
              {saving.words}
            </p>
          )}
          {campaign && whole.priceCents < subject.finalPriceCents && (
            <p className="buy__saving">{campaignName(campaign)}</p>
          )}
          {subject.completeOnly ? (
            <p className="buy__only">Esta asignatura solo se vende completa.</p>
          ) : (
            <>
              <label className="buy__way">
                <input
                  id="lecciones"
                  type="radio"
                  name="modo"
                  checked={single}
                  onChange={() => setChoice({ cart: [], single: true })}
                />
                <span>Lecciones sueltas</span>
                <span className="buy__price">
                  desde <strong className="price">{formatEuros(Math.min(...prices))}</strong>
                </span>
              </label>
              <ul className="lessons" aria-label={`Lecciones de ${subject.name}`}>
                {subject.lessons.map((lesson) => (
                  <li key={lesson.id}>
                    <label className="lesson" data-expired={!lesson.active || undefined}>
                      <input
                        id={`leccion-${lesson.id}`}
                        type="checkbox"
                        className="checkbox"
                        checked={single && isTicked(cart, lesson)}
                        disabled={!lesson.active}
                        onChange={() =>
                          setChoice({
                            cart: toggleLesson(single ? cart : [], subject, lesson.id),
                            single: true,
                          })
                        }
                      />
                      <span className="lesson__title">{lesson.title}</span>
                      {lesson.active ? (
                        <span className="price price--plain">{formatEuros(priceOf(lesson))}</span>
                      ) : (
                        <span className="badge">Caducada</span>
                      )}
                    </label>
                  </li>
                ))}
              </ul>
            </>
          )}
        </fieldset>
        <p className="buy__total" role="status">
          <span>Con pago completo</span>
          <strong className="price">{formatEuros(total)}</strong>
        </p>
        <button
          id="pagar"
          type="submit"
          ref={button}
          className="button button--large"
          aria-haspopup="dialog"
          aria-busy={loading}
          onPointerEnter={() => preload(loadPaymentDialog)}
          onFocus={() => preload(loadPaymentDialog)}
        >
          Comprar ahora
        </button>
        <p className="section__small">
          {vatSentence()}. <a href={cataloguePath(subject, cart)}>Añadir otras asignaturas</a>
        </p>
      </form>
      {Dialog && (
        <Dialog
          open={open}
          onOpenChange={setOpen}
          opener={button}
          cart={cart}
          onCartChange={(priced) => {
            setCart(priced);
            if (priced[0]) setSubject(priced[0].subject);
          }}
          onUnavailable={(items) => setSubject(withoutUnavailable(subject, items))}
          pricing={pricing}
          academy={academy}
          bindingQuote={null}
          code=""
        />
      )}
    </>
  );
}

/** What is chosen in the server's form: the whole subject, or the ticked lessons. */
function choiceInPage(subject: CatalogueSubject): { cart: CartLine[]; single: boolean } {
  const form = document.querySelector<HTMLFormElement>("[data-island=subject] form");
  const data = form && new FormData(form);
  const ticked = (data?.getAll("leccion") ?? []).map(Number);
  if (ticked.length > 0) return { cart: [{ subject, lessonIds: ticked }], single: true };
  const single = data?.get("modo") === "lecciones";
  return { cart: single ? [] : toggleAll([], subject), single };
}

/** The link to the catalogue with this choice in the cart. */
function cataloguePath(subject: CatalogueSubject, cart: CartLine[]): string {
  const params = new URLSearchParams({ asignatura: String(subject.id) });
  for (const id of cart[0]?.lessonIds ?? []) params.append("leccion", String(id));
  return `/compra?${params}`;
}

/**
 * What the whole subject costs less than its lessons, as `apps/pages/subject_prices.py` says it, or
 * null if it does not cost less.
 */
function savingInWords(
  wholeCents: number,
  lessonCents: readonly number[],
): { cents: number; words: string } | null {
  const singly = lessonCents.reduce((total, cents) => total + cents, 0);
  const cents = singly - wholeCents;
  if (cents <= 0) return null;
  const free = Math.floor(cents / Math.max(...lessonCents));
  if (free > 0) {
    return {
      cents,
      words: `Es como llevarte gratis ${free} de las ${lessonCents.length} lecciones.`,
    };
  }
  const percent = Math.floor((cents * 100) / singly);
  return { cents, words: percent > 0 ? `Es un ${percent} % menos.` : "" };
}

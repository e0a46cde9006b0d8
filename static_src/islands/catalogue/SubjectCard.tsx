import { memo, useState } from "react";
import { CheckIcon, PeopleIcon } from "../../lib/icons";
import { activeLessons, type CartLine, isComplete, isTicked } from "../../lib/pricing/cart";
import { campaignFor, campaignName, sum } from "../../lib/pricing/discounts";
import { formatEuros, formatWholeEuros } from "../../lib/pricing/money";
import { subjectCard } from "../../lib/pricing/quote";
import type { CatalogueLesson, CatalogueSubject } from "../../schemas/catalogue";
import type { Pricing } from "../../schemas/pricing";
import { WholeOffer } from "../payment/WholeOffer";

type Props = {
  subject: CatalogueSubject;
  pricing: Pricing;
  line: CartLine | undefined;
  onToggleLesson: (subject: CatalogueSubject, lessonId: number) => void;
  onToggleAll: (subject: CatalogueSubject) => void;
  /** Open the payment dialog. */
  onPay: () => void;
};

/** Further lessons are folded. */
const LESSONS_SHOWN = 4;

/**
 * A subject with its lessons. `templates/pages/_subject_card.html` renders the same HTML on the
 * server. Memoised, because with "Todas" the page may have thousands of cards: a card renders again
 * only when its own line of the cart changes.
 */
export const SubjectCard = memo(
  ({ subject, pricing, line, onToggleLesson, onToggleAll, onPay }: Props) => {
    const { id, name, degree, lessons, finalPriceCents, totalDiscounts } = subject;
    const campaign = campaignFor(pricing, degree.id, "cart");
    const { contents, completeOnly, enrolledStudents, lowestCents } = subject;
    const { listPriceCents, priceCents, discountEuros } = subjectCard(
      finalPriceCents,
      totalDiscounts,
      { campaign, lowestCents },
    );
    const isCheaper = priceCents < Math.max(finalPriceCents, listPriceCents);
    const complete = line !== undefined && isComplete(line);
    const active = activeLessons(subject);
    const title = `asignatura-${id}`;
    const selectAll = complete ? "Quitar selección" : "Seleccionar todo";
    const priceOf = (lesson: CatalogueLesson) =>
      subjectCard(lesson.priceCents, 0, { campaign }).priceCents;
    const savingCents = completeOnly ? 0 : sum(active.map(priceOf)) - priceCents;
    const row = (lesson: CatalogueLesson) => (
      <LessonRow
        key={lesson.id}
        lesson={lesson}
        priceCents={priceOf(lesson)}
        completeOnly={completeOnly}
        ticked={line !== undefined && isTicked([line], lesson)}
        onToggle={() => onToggleLesson(subject, lesson.id)}
      />
    );
    const folded = lessons.slice(LESSONS_SHOWN);
    // From the start only: the visitor folds and unfolds.
    const [unfolded] = useState(() => folded.some(({ id }) => line?.lessonIds.includes(id)));

    return (
      <li>
        <article
          className="card subject"
          aria-labelledby={title}
          data-complete={complete || undefined}
        >
          <header className="subject__head">
            <p className="subject__degree">
              <span>{degree.name}</span>
              {complete && (
                <span className="badge badge--accent">
                  <CheckIcon />
                  Completa
                </span>
              )}
              {discountEuros > 0 && (
                <span className="badge badge--success">−{discountEuros} €</span>
              )}
            </p>
            <h3 id={title}>{name}</h3>
            <p className="subject__contents">{contents}</p>
          </header>
          <div className="subject__whole">
            <p className="subject__price">
              <span>Asignatura completa</span>
              {listPriceCents > priceCents && (
                <s className="price price--list">
                  <span className="visually-hidden">Antes: </span>
                  {formatEuros(listPriceCents)}
                </s>
              )}
              <strong className="price">{formatEuros(priceCents)}</strong>
            </p>
            <p className="subject__saving">
              {savingCents > 0 && (
                <span>Ahorras {formatWholeEuros(savingCents)} frente a PECs sueltas</span>
              )}
              {isCheaper && campaign && <span>{campaignName(campaign)}</span>}
            </p>
            <div className="subject__actions">
              <button
                type="button"
                id={`elegir-${id}`}
                className={complete ? "button button--quiet" : "button button--soft"}
                aria-label={`${selectAll}: ${name}`}
                disabled={active.length === 0}
                // The second tap of a double tap would undo the first.
                onClick={({ detail }) => detail < 2 && onToggleAll(subject)}
              >
                {selectAll}
              </button>
              <a
                className="button button--plain"
                href={subjectPath(subject)}
                target="_blank"
                rel="noopener"
                aria-label={`Ver más sobre ${name} (se abre en otra pestaña)`}
              >
                Ver más
              </a>
            </div>
          </div>
          {active.length === 0 && <p className="subject__none">No hay lecciones disponibles</p>}
          <ul className="lessons" aria-label={`Lecciones de ${name}`}>
            {lessons.slice(0, LESSONS_SHOWN).map(row)}
          </ul>
          {folded.length > 0 && (
            <details className="subject__rest" open={unfolded}>
              <summary>y {folded.length} más</summary>
              <ul className="lessons" aria-label={`Más lecciones de ${name}`}>
                {folded.map(row)}
              </ul>
            </details>
          )}
          {line && <WholeOffer line={line} onTakeWhole={() => onToggleAll(subject)} />}
          {line && (
            // Seen only while it has the focus: the floating button is far away by keyboard.
            <button
              type="button"
              className="button subject__pay"
              aria-haspopup="dialog"
              onClick={onPay}
            >
              Ir a pagar
            </button>
          )}
          {INCLUDES}
          <p className="subject__foot">
            {enrolledStudents > 0 && (
              <span>
                <PeopleIcon />
                {enrolledStudents} {enrolledStudents === 1 ? "matriculado" : "matriculados"}
              </span>
            )}
            <a
              href={subjectPath(subject)}
              target="_blank"
              rel="noopener"
              aria-label={`Contenido de ${name} (se abre en otra pestaña)`}
            >
              Contenido
            </a>
          </p>
        </article>
      </li>
    );
  },
);

/** What the complete subject has in each PEC. A card shows the lines for which it has room. */
const INCLUDES = (
  <ul className="subject__includes" aria-label="Incluye la asignatura completa">
    <li>Vídeo de resolución de cada PEC</li>
    <li>Documento resuelto y razonado</li>
    <li>8 vídeos de teoría por PEC</li>
    <li>60 preguntas tipo test por PEC</li>
    <li>Soporte del profesor</li>
  </ul>
);

type LessonRowProps = {
  lesson: CatalogueLesson;
  priceCents: number;
  completeOnly: boolean;
  ticked: boolean;
  onToggle: () => void;
};

function LessonRow({ lesson, priceCents, completeOnly, ticked, onToggle }: LessonRowProps) {
  const expired = !lesson.active || undefined;
  const state = expired && <span className="badge">Caducada</span>;
  if (completeOnly) {
    return (
      <li>
        <p className="lesson" data-expired={expired}>
          <span className="lesson__title">{lesson.title}</span>
          {state ?? <span className="lesson__whole">Solo con la completa</span>}
        </p>
      </li>
    );
  }
  return (
    <li>
      <label className="lesson" data-expired={expired}>
        <input
          type="checkbox"
          className="checkbox"
          id={`leccion-${lesson.id}`}
          checked={ticked}
          disabled={expired}
          onChange={onToggle}
        />
        <span className="lesson__title">{lesson.title}</span>
        {state ?? <span className="price price--plain">{formatEuros(priceCents)}</span>}
      </label>
    </li>
  );
}

/** The address of a subject's page, as `apps/catalogue/addresses.py` makes it. */
function subjectPath({ id, name, degree }: CatalogueSubject): string {
  const { university } = degree;
  return `/asignaturas/${part(university.acronym, university.id)}/${part(name, id)}`;
}

/** Words and an id. The server redirects from other words: only the id decides. */
function part(words: string, id: number): string {
  const plain = words
    .normalize("NFD")
    .replace(/[^\w\s-]/g, "")
    .trim()
    .toLowerCase()
    .replace(/[-\s]+/g, "-");
  return `${plain || "asignatura"}-${id}`;
}

import { memo } from "react";
import { subjectPath } from "../../lib/addresses";
import { activeLessons, type CartLine, isComplete, isTicked } from "../../lib/cart";
import { campaignName } from "../../lib/discounts";
import { CheckIcon, PeopleIcon } from "../../lib/icons";
import { formatEuros } from "../../lib/money";
import { subjectCard } from "../../lib/quote";
import type { CatalogueLesson, CatalogueSubject } from "../../schemas/catalogue";
import type { Campaign } from "../../schemas/pricing";
import { WholeOffer } from "./WholeOffer";

type Props = {
  subject: CatalogueSubject;
  campaign: Campaign | null;
  line: CartLine | undefined;
  onToggleLesson: (subject: CatalogueSubject, lessonId: number) => void;
  onToggleAll: (subject: CatalogueSubject) => void;
  /** Open the payment dialog. */
  onPay: () => void;
};

/**
 * A subject with its lessons. `templates/pages/_subject_card.html` renders the same HTML on the
 * server. Memoised, because with "Todas" the page may have thousands of cards: a card renders again
 * only when its own line of the cart changes.
 */
export const SubjectCard = memo(
  ({ subject, campaign, line, onToggleLesson, onToggleAll, onPay }: Props) => {
    const { id, name, degree, lessons, finalPriceCents, totalDiscounts } = subject;
    const { lowestCents, enrolledStudents } = subject;
    const { listPriceCents, priceCents, discountEuros } = subjectCard(
      finalPriceCents,
      totalDiscounts,
      { campaign, lowestCents },
    );
    const isCheaper = priceCents < Math.max(finalPriceCents, listPriceCents);
    const complete = line !== undefined && isComplete(line);
    const available = activeLessons(subject).length > 0;
    const title = `asignatura-${id}`;
    const selectAll = complete ? "Quitar selección" : "Seleccionar todo";

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
            <p className="subject__meta">
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
                aria-label={`Contenido de ${name}`}
              >
                Contenido
              </a>
            </p>
          </header>
          {!available && <p className="subject__none">No hay lecciones disponibles</p>}
          {lessons.length > 0 && (
            <ul className="lessons" aria-label={`Lecciones de ${name}`}>
              {lessons.map((lesson) => (
                <LessonRow
                  key={lesson.id}
                  lesson={lesson}
                  ticked={line !== undefined && isTicked([line], lesson)}
                  onToggle={() => onToggleLesson(subject, lesson.id)}
                />
              ))}
            </ul>
          )}
          {line && <WholeOffer line={line} onTakeWhole={() => onToggleAll(subject)} />}
          <footer className="subject__whole">
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
            {isCheaper && campaign?.cart && (
              <p className="subject__campaign">{campaignName(campaign)}</p>
            )}
            <div className="subject__actions">
              <button
                type="button"
                className={complete ? "button button--quiet" : "button button--soft"}
                aria-label={`${selectAll}: ${name}`}
                disabled={!available}
                onClick={() => onToggleAll(subject)}
              >
                {selectAll}
              </button>
              <a
                className="button button--plain"
                href={subjectPath(subject)}
                target="_blank"
                rel="noopener"
                aria-label={`Ver más sobre ${name}`}
              >
                Ver más
              </a>
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
            </div>
          </footer>
        </article>
      </li>
    );
  },
);

type LessonRowProps = { lesson: CatalogueLesson; ticked: boolean; onToggle: () => void };

function LessonRow({ lesson, ticked, onToggle }: LessonRowProps) {
  return (
    <li>
      <label className="lesson" data-expired={!lesson.active || undefined}>
        <input
          type="checkbox"
          className="checkbox"
          checked={ticked}
          disabled={!lesson.active}
          onChange={onToggle}
        />
        <span className="lesson__title">{lesson.title}</span>
        {lesson.active ? (
          <span className="price price--plain">{formatEuros(lesson.priceCents)}</span>
        ) : (
          <span className="badge">Caducada</span>
        )}
      </label>
    </li>
  );
}

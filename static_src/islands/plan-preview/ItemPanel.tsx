import type { ReactNode } from "react";
import { Icon, LockIcon } from "../../lib/icons";
import type { PreviewItem, PreviewSample } from "../../schemas/pages";
import { type ContentKey, describe, isUnlocked, type Plan } from "./plan";

type Props = {
  item: PreviewItem;
  /** What opens of the item; null if only its titles are known. */
  sample: PreviewSample | null;
  plan: Plan;
  chosen: ContentKey | null;
  onChoose(content: ContentKey): void;
};

/** The content of a PEC or of the exam. Entries that the plan includes can be chosen. */
export function ItemPanel({ item, sample, plan, chosen, onChoose }: Props) {
  const entry = (content: ContentKey) => (
    <Entry
      key={content}
      {...describe(item, content)}
      icon={iconOf(content)}
      locked={!isUnlocked(plan, content)}
      chosen={content === chosen}
      onChoose={() => onChoose(content)}
    />
  );
  const videos = item.videos.map(({ id }) => entry(`video-${id}`));
  const documents = item.documents.map(({ id }) => entry(`document-${id}`));
  const hasTest = item.testQuestions !== null;

  return (
    <>
      <div>
        <h3 className="preview__title">
          {item.name} <span>{item.topic}</span>
        </h3>
        <p className="preview__due">{item.due}</p>
      </div>
      <div role="status">{chosen && <Screen item={item} sample={sample} content={chosen} />}</div>
      {item.resolution && item.solved && (
        <Block title="Resolución" state={null}>
          {entry("resolution")}
          {entry("solved")}
        </Block>
      )}
      <Block title={hasTest ? "Vídeos de teoría" : "Vídeos"} state={lockedState(plan)}>
        {videos}
      </Block>
      <Block title="Documentos" state={lockedState(plan)}>
        {documents}
      </Block>
      {hasTest && (
        <Block title="Ejercicios tipo test" state={lockedState(plan) ?? "Disponible"}>
          {entry("test")}
        </Block>
      )}
    </>
  );
}

const lockedState = (plan: Plan) => (plan === "full" ? null : "Bloqueado");

type BlockProps = { title: string; state: "Bloqueado" | "Disponible" | null; children: ReactNode };

function Block({ title, state, children }: BlockProps) {
  return (
    <section className="preview__block">
      <h4>
        {title}
        {state && (
          <span className={state === "Disponible" ? "badge badge--success" : "badge"}>{state}</span>
        )}
        {state === "Bloqueado" && <small>Se abre con la Asignatura Completa</small>}
      </h4>
      <ul className="preview__entries">{children}</ul>
    </section>
  );
}

type EntryProps = {
  title: string;
  size: string;
  icon: ReactNode;
  locked: boolean;
  chosen: boolean;
  onChoose(): void;
};

function Entry({ title, size, icon, locked, chosen, onChoose }: EntryProps) {
  const words = (
    <>
      {locked ? <LockIcon /> : icon}
      <span>{title}</span>
      <small>{size}</small>
    </>
  );
  return (
    <li>
      {locked ? (
        <p className="preview__entry">{words}</p>
      ) : (
        <button type="button" className="preview__entry" aria-pressed={chosen} onClick={onChoose}>
          {words}
        </button>
      )}
    </li>
  );
}

type ScreenProps = Pick<Props, "item" | "sample"> & { content: ContentKey };

/** The chosen content: a page or the questions of the sample, a placeholder of anything else. */
function Screen({ item, sample, content }: ScreenProps) {
  if (sample && content === "solved") {
    return (
      <Opened name={sample.name} what="La primera página de su documento resuelto">
        {sample.paragraphs.map((text) => (
          <p key={text}>{text}</p>
        ))}
      </Opened>
    );
  }
  if (sample && content === "test") {
    return (
      <Opened name={sample.name} what="Tres preguntas de su test">
        {sample.questions.map(({ text, answers, right_answer, why }) => (
          <details key={text}>
            <summary>{text}</summary>
            <ul>
              {answers.map((answer) => (
                <li key={answer}>{answer}</li>
              ))}
            </ul>
            <p>
              <strong>{right_answer}</strong> {why}
            </p>
          </details>
        ))}
      </Opened>
    );
  }
  const { title, size } = describe(item, content);
  return (
    <figure className="preview__screen">
      <span className="preview__drawing" aria-hidden="true">
        {iconOf(content)}
      </span>
      <figcaption>
        <strong>{title}</strong>
        <span>{size} · Así lo verás en la plataforma</span>
      </figcaption>
    </figure>
  );
}

type OpenedProps = { name: string; what: string; children: ReactNode };

function Opened({ name, what, children }: OpenedProps) {
  return (
    <figure className="preview__screen">
      <div className="preview__page">{children}</div>
      <figcaption>
        <strong>{name}</strong>
        <span>{what}</span>
      </figcaption>
    </figure>
  );
}

function iconOf(content: ContentKey): ReactNode {
  if (content === "test") return <QuizIcon />;
  return content === "resolution" || content.startsWith("video") ? <PlayIcon /> : <DocumentIcon />;
}

// Icons in the style of `lib/icons.tsx` that only this island uses.
const PlayIcon = () => (
  <Icon>
    <circle cx="12" cy="12" r="8.5" />
    <path d="M10 8.8v6.4l5.2-3.2z" />
  </Icon>
);

const DocumentIcon = () => (
  <Icon>
    <path d="M7 3.5h7l4 4v13H7a1.5 1.5 0 0 1-1.5-1.5V5A1.5 1.5 0 0 1 7 3.5zM14 3.5v4h4M9 12h6M9 15.5h6" />
  </Icon>
);

const QuizIcon = () => (
  <Icon>
    <path d="m4 7 1.5 1.5L8 6M4 15.5 5.5 17 8 14.5M11.5 7.5H20M11.5 16H20" />
  </Icon>
);

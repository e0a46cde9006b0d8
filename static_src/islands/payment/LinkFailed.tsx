import type { Academy } from "../../schemas/academy";

type Props = {
  title: string;
  detail?: string;
  academy: Academy;
  /** Where trying again may help. */
  onRetry?: (() => void) | undefined;
};

/** The message when the personal link to an order cannot be opened. */
export function LinkFailed({ title, detail, academy, onRetry }: Props) {
  return (
    <div className="card recovery__message" role="alert">
      <h2>{title}</h2>
      {detail && <p>{detail}</p>}
      <p>
        Si crees que es un error, escríbenos a{" "}
        <a href={`mailto:${academy.supportEmail}`}>{academy.supportEmail}</a>.
      </p>
      <div className="recovery__actions">
        {onRetry && (
          <button type="button" className="button" onClick={onRetry}>
            Reintentar
          </button>
        )}
        <a className={onRetry ? "button button--quiet" : "button"} href="/">
          Volver al inicio
        </a>
      </div>
    </div>
  );
}

import type { Academy } from "../schemas/academy";

type Props = { title: string; detail?: string; academy: Academy };

/** The message when the personal link to an order cannot be opened. */
export function LinkFailed({ title, detail, academy }: Props) {
  return (
    <div className="card recovery__message" role="alert">
      <h2>{title}</h2>
      {detail && <p>{detail}</p>}
      <p>
        Si crees que es un error, escríbenos a{" "}
        <a href={`mailto:${academy.supportEmail}`}>{academy.supportEmail}</a>.
      </p>
      <a className="button" href="/">
        Volver al inicio
      </a>
    </div>
  );
}

import type { UnavailableItem } from "../../schemas/payments";

type Props = {
  items: UnavailableItem[];
  onBuyAgain(): void;
  /** Where the cart can be changed. */
  onRemove?: (items: UnavailableItem[]) => void;
};

/** Said to who is signed in alone: what of the cart they have bought before. */
export function AlreadyBought({ items, onBuyAgain, onRemove }: Props) {
  function buyAgain() {
    // The notice goes with its button: the focus goes on to what comes next.
    document.querySelector<HTMLElement>(".pay-bar__pay")?.focus();
    onBuyAgain();
  }

  return (
    <div className="notice notice--warning" role="alert">
      <p>
        <strong>Ya lo has comprado:</strong>
      </p>
      <ul>
        {items.map((item) => (
          <li key={`${item.subjectId}-${item.lessonId}`}>{item.name}</li>
        ))}
      </ul>
      <p>Lo tienes en el aula. ¿Quieres pagarlo otra vez?</p>
      {onRemove && (
        <button type="button" className="button button--quiet" onClick={() => onRemove(items)}>
          Quitar
        </button>
      )}{" "}
      <button type="button" className="button button--plain" onClick={buyAgain}>
        Comprar de todos modos
      </button>
    </div>
  );
}

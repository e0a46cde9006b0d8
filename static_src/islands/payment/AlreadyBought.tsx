import type { UnavailableItem } from "../../schemas/checkout";
import { focusPayButton, RefusalNotice } from "./RefusalNotice";

type Props = {
  items: UnavailableItem[];
  onBuyAgain(): void;
  /** Only where the cart can be changed. */
  onRemove?: (items: UnavailableItem[]) => void;
};

/** The notice to a signed-in student that the cart has items they have already bought. */
export function AlreadyBought({ items, onBuyAgain, onRemove }: Props) {
  function buyAgain() {
    focusPayButton();
    onBuyAgain();
  }

  return (
    <RefusalNotice>
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
    </RefusalNotice>
  );
}

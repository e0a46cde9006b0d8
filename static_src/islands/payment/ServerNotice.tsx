import type { UnavailableItem } from "../../schemas/checkout";
import { focusPayButton, PriceChanged, RefusalNotice } from "./RefusalNotice";
import type { Purchase } from "./state";

type Props = {
  purchase: Purchase;
  totalCents: number;
  onRemove(items: UnavailableItem[]): void;
  onBuyAgain(): void;
  onAcceptPrice(): void;
};

/** Why the server refused the cart: already bought, another price, or not available any more. */
export function ServerNotice({
  purchase: { notice },
  totalCents,
  onRemove,
  onBuyAgain,
  onAcceptPrice,
}: Props) {
  if (notice?.kind === "already_bought") {
    return <AlreadyBought items={notice.items} onRemove={onRemove} onBuyAgain={onBuyAgain} />;
  }
  if (notice?.kind === "price_changed") {
    return <PriceChanged totalCents={totalCents} onAccept={onAcceptPrice} />;
  }
  if (notice?.kind === "unavailable") {
    return (
      <RefusalNotice>
        <p>
          <strong>Ya no se puede comprar:</strong>
        </p>
        <ul>
          {notice.items.map((item) => (
            <li key={`${item.subjectId}-${item.lessonId}`}>{item.name}</li>
          ))}
        </ul>
        <button
          type="button"
          className="button button--quiet"
          onClick={() => onRemove(notice.items)}
        >
          Quitar del pedido
        </button>
      </RefusalNotice>
    );
  }
  return null;
}

type AlreadyBoughtProps = {
  items: UnavailableItem[];
  onBuyAgain(): void;
  /** Only where the cart can be changed. */
  onRemove?: (items: UnavailableItem[]) => void;
};

/** The notice to a signed-in student that the cart has items they have already bought. */
function AlreadyBought({ items, onBuyAgain, onRemove }: AlreadyBoughtProps) {
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

import { useEffect, useState } from "react";
import * as z from "zod/mini";
import { ApiError, get } from "../../lib/http/api";
import "./buying";
import "../../lib/common";
import type { OrderCredentials } from "../../schemas/checkout";
import { forgetPayment, orderQuery, recoveryUrl, unfinishedOrder } from "./pendingPayment";

/**
 * The offer to continue with a purchase that this tab has left half done, for example by a reload
 * while the card form was open. Shown only if the server says that its order can still be paid.
 */
export function UnfinishedPurchase() {
  const [order, setOrder] = useState<OrderCredentials | null>(null);
  useEffect(() => {
    const stored = unfinishedOrder();
    if (!stored) return;
    get(`/api/orders/recover?${orderQuery(stored)}`, z.object({ id: z.number() })).then(
      () => setOrder(stored),
      (error: Error) => {
        // Without a connection the order may still be open.
        if (error instanceof ApiError && error.status >= 400 && error.status < 500) forgetPayment();
      },
    );
  }, []);
  if (!order) return null;
  return (
    <div className="notice notice--success unfinished" role="status">
      <p>
        <strong>Tienes una compra a medias</strong>
        <br />
        Está guardada con lo que elegiste: puedes seguir donde la dejaste.
      </p>
      <p className="notice__actions">
        <a className="button" href={recoveryUrl(order)}>
          Continuar
        </a>
        <button
          type="button"
          className="button button--quiet"
          onClick={() => {
            forgetPayment();
            setOrder(null);
          }}
        >
          Descartar
        </button>
      </p>
    </div>
  );
}

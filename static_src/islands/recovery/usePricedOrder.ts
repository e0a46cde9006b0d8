import { useEffect, useState } from "react";
import type { RecoveredOrder } from "../../schemas/recovery";
import { type Link, loadOrder } from "./recoveredOrder";

type PricedOrder = {
  /** The order with the last changes that the server has priced. */
  order: RecoveredOrder;
  /** Whether `order` has the latest changes. False while the server still prices them. */
  isCurrent: boolean;
  /** Whether the buyer has changed nothing. */
  isAsSaved: boolean;
  /** Why the server has not priced the changes. */
  problem: string;
  reload(): void;
};

/** The server's price of the saved order with the buyer's changes: `wishes` of `wishesOf`. */
export function usePricedOrder(saved: RecoveredOrder, link: Link, wishes: string): PricedOrder {
  const [atFirst] = useState(wishes);
  const [shown, setShown] = useState({ order: saved, wishes, attempt: 0 });
  const [attempt, setAttempt] = useState(0);
  const [problem, setProblem] = useState("");
  const { order: id, token } = link;
  const isCurrent = shown.wishes === wishes && shown.attempt === attempt;

  useEffect(() => {
    setProblem("");
    if (isCurrent) return;
    const controller = new AbortController();
    loadOrder({ order: id, token }, controller.signal, wishes).then(
      (order) => setShown({ order, wishes, attempt }),
      (error: Error) => {
        if (!controller.signal.aborted) setProblem(error.message);
      },
    );
    return () => controller.abort();
  }, [id, token, wishes, attempt, isCurrent]);

  return {
    order: shown.order,
    isCurrent,
    isAsSaved: wishes === atFirst,
    problem,
    reload: () => setAttempt(attempt + 1),
  };
}

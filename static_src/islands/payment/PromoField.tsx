import { type FormEvent, type RefObject, useEffect, useRef, useState } from "react";
import { Field } from "../../lib/forms/fields";
import { toast } from "../../lib/page/toast";
import type { CheckoutItem } from "../../lib/pricing/cart";
import type { OrderCredentials } from "../../schemas/checkout";
import type { PaymentType } from "../../schemas/paymentType";
import { validatePromo } from "./checkoutApi";
import { cleanCode, promoResult } from "./promo";
import type { AppliedPromo } from "./state";

type Props = {
  applied: AppliedPromo | null;
  error: string | null;
  disabled: boolean;
  cart: { items: CheckoutItem[]; centsBeforePromo: number };
  paymentType: PaymentType;
  email: string;
  order: OrderCredentials | null;
  /** The promo code of the page's link. Applied once as if typed, then set to an empty string. */
  linkCode?: RefObject<string>;
  onApply(promo: AppliedPromo): void;
  onRefuse(text: string): void;
  onRemove(): void;
};

export function PromoField(props: Props) {
  const { applied, disabled } = props;
  const [text, setText] = useState("");
  const [checking, setChecking] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  const shown = useRef(applied !== null);

  // The pressed button has been replaced: focus the control in its place.
  useEffect(() => {
    if (shown.current === (applied !== null)) return;
    shown.current = applied !== null;
    box.current?.querySelector<HTMLElement>("input, button")?.focus();
  }, [applied]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: runs once, when the dialog opens.
  useEffect(() => {
    if (!props.linkCode) return;
    const code = props.linkCode.current;
    props.linkCode.current = "";
    if (!applied) apply(code);
  }, []);

  async function apply(typed: string) {
    const code = cleanCode(typed);
    if (!code || checking || disabled) return;
    setChecking(true);
    const result = await validatePromo({
      code,
      cartCents: props.cart.centsBeforePromo,
      items: props.cart.items,
      paymentType: props.paymentType,
      email: props.email,
      order: props.order,
    }).then(promoResult, promoResult);
    setChecking(false);
    toast(result.toast);
    if (result.kind === "applied") {
      setText("");
      props.onApply(result.applied);
    } else {
      props.onRefuse(result.text);
    }
  }

  function submit(event: FormEvent) {
    event.preventDefault();
    apply(text);
  }

  function remove() {
    toast({ title: "Código eliminado", tone: "info" });
    props.onRemove();
  }

  return (
    <div ref={box}>
      {applied ? (
        <p className="promo__applied">
          <span>
            Código <strong>{applied.code}</strong> aplicado
          </span>
          <button
            type="button"
            className="button button--plain"
            disabled={disabled}
            onClick={remove}
          >
            Quitar<span className="visually-hidden"> el código {applied.code}</span>
          </button>
        </p>
      ) : (
        <form className="promo" onSubmit={submit} noValidate>
          <Field
            label="Código promocional"
            name="promo"
            type="text"
            autoComplete="off"
            autoCapitalize="characters"
            spellCheck={false}
            maxLength={40}
            value={text}
            disabled={disabled}
            error={props.error ?? undefined}
            onChange={(event) => setText(event.target.value)}
          />
          <button
            type="submit"
            className="button button--quiet"
            disabled={disabled || !cleanCode(text)}
            aria-busy={checking}
          >
            Aplicar
          </button>
        </form>
      )}
    </div>
  );
}

import { type FormEvent, type RefObject, useEffect, useRef, useState } from "react";
import type { CheckoutItem } from "../../lib/cart";
import { Field } from "../../lib/fields";
import type { PaymentType } from "../../lib/quote";
import { toast } from "../../lib/toast";
import { validatePromo } from "./calls";
import { cleanCode, promoVerdict } from "./promo";
import type { AppliedPromo, OrderKey } from "./state";

type Props = {
  applied: AppliedPromo | null;
  error: string | null;
  disabled: boolean;
  cart: { items: CheckoutItem[]; centsBeforePromo: number };
  paymentType: PaymentType;
  email: string;
  order: OrderKey | null;
  /** The code of a link, to be applied as if it were typed; empty once it has been. */
  linkCode: RefObject<string>;
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

  // What was pressed has just gone: the focus goes on to what took its place.
  useEffect(() => {
    if (shown.current === (applied !== null)) return;
    shown.current = applied !== null;
    box.current?.querySelector<HTMLElement>("input, button")?.focus();
  }, [applied]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: once, with what the dialog opened with.
  useEffect(() => {
    const code = props.linkCode.current;
    props.linkCode.current = "";
    if (!applied) apply(code);
  }, []);

  async function apply(typed: string) {
    const code = cleanCode(typed);
    if (!code || checking || disabled) return;
    setChecking(true);
    const verdict = await validatePromo({
      code,
      cartCents: props.cart.centsBeforePromo,
      items: props.cart.items,
      paymentType: props.paymentType,
      email: props.email,
      order: props.order,
    }).then(promoVerdict, promoVerdict);
    setChecking(false);
    toast(verdict.toast);
    if (verdict.kind === "applied") {
      setText("");
      props.onApply(verdict.applied);
    } else {
      props.onRefuse(verdict.text);
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

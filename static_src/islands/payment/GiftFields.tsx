import type { ReactNode } from "react";
import { Checkbox, EmailField, Field, FieldFrame } from "../../lib/forms/fields";
import {
  firstDay,
  type Gift,
  type GiftErrors,
  lastDay,
  MESSAGE_LENGTH,
  NAME_LENGTH,
  newGift,
} from "./gift";

type Props = {
  gift: Gift | null;
  errors: GiftErrors;
  onEdit(gift: Gift | null): void;
  /** A question about the address, after its field. */
  question: ReactNode;
};

/** The part of step 1 that makes the purchase a gift. */
export function GiftFields({ gift, errors, onEdit, question }: Props) {
  const edit = (change: Partial<Gift>) => gift && onEdit({ ...gift, ...change });
  return (
    <div>
      <Checkbox checked={gift !== null} onChange={(ticked) => onEdit(ticked ? newGift() : null)}>
        Es un regalo
      </Checkbox>
      {gift && (
        <fieldset className="purchase__gift">
          <legend className="visually-hidden">El regalo</legend>
          <p className="form__note">
            El acceso será de quien lo recibe, desde el día que elijas. Para ti son la confirmación,
            la factura y las devoluciones.
          </p>
          <Field
            label="De parte de"
            name="gift.sender"
            type="text"
            autoComplete="name"
            required
            maxLength={NAME_LENGTH}
            value={gift.sender}
            error={errors["gift.sender"]}
            onChange={(event) => edit({ sender: event.target.value })}
          />
          <Field
            label="Nombre de quien lo recibe (opcional)"
            name="gift.name"
            type="text"
            autoComplete="off"
            maxLength={NAME_LENGTH}
            value={gift.name}
            error={errors["gift.name"]}
            onChange={(event) => edit({ name: event.target.value })}
          />
          <EmailField
            label="Email de quien lo recibe"
            name="gift.email"
            autoComplete="off"
            inputMode="email"
            placeholder="su@email.com"
            value={gift.email}
            error={errors["gift.email"]}
            onChange={(event) => edit({ email: event.target.value })}
          />
          {question}
          <Field
            label="Día de entrega"
            name="gift.deliver_on"
            type="date"
            required
            min={firstDay()}
            max={lastDay()}
            value={gift.deliver_on}
            error={errors["gift.deliver_on"]}
            onChange={(event) => edit({ deliver_on: event.target.value })}
          />
          <FieldFrame
            label="Mensaje (opcional)"
            hint={`Hasta ${MESSAGE_LENGTH} caracteres, sin enlaces.`}
            error={errors["gift.message"]}
          >
            {(attributes) => (
              <textarea
                {...attributes}
                name="gift.message"
                rows={3}
                maxLength={MESSAGE_LENGTH}
                value={gift.message}
                onChange={(event) => edit({ message: event.target.value })}
              />
            )}
          </FieldFrame>
        </fieldset>
      )}
    </div>
  );
}

/** Form fields with labels, hints and errors, and the texts that several forms share. */
import type { ComponentProps, ReactNode } from "react";
import { useId } from "react";
import type { Academy } from "../../schemas/academy";

export type FieldFrameProps = {
  label: string;
  hint?: string | undefined;
  error?: string | undefined;
};
export type FieldProps = ComponentProps<"input"> & FieldFrameProps;

export function Field({ label, hint, error, className, ...input }: FieldProps) {
  return (
    <FieldFrame label={label} hint={hint} error={error} className={className}>
      {(attributes) => <input {...input} {...attributes} />}
    </FieldFrame>
  );
}

export const EmailField = (props: Omit<FieldProps, "label"> & { label?: string }) => (
  <Field
    label="Email"
    name="email"
    type="email"
    autoComplete="email"
    placeholder="tu@email.com"
    required
    {...props}
  />
);

type Attributes = {
  id: string;
  className: string;
  "aria-invalid": boolean;
  "aria-describedby": string | undefined;
};

/**
 * Label, hint and error of a control. The control gets the attributes that connect it with them.
 */
export function FieldFrame({
  label,
  hint,
  error,
  className,
  children,
}: FieldFrameProps & {
  className?: string | undefined;
  children: (attributes: Attributes) => ReactNode;
}) {
  const id = useId();
  return (
    <div className={className ? `field ${className}` : "field"}>
      <label className="field__label" htmlFor={id}>
        {label}
      </label>
      {children({
        id,
        className: "input",
        "aria-invalid": !!error,
        "aria-describedby": describe(error && `${id}-error`, hint && `${id}-hint`),
      })}
      {hint && (
        <p className="field__hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      {error && (
        <p className="field__error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

type CheckboxProps = {
  name?: string;
  /** Without `checked` and `onChange` the checkbox keeps its own state. */
  checked?: boolean;
  onChange?(checked: boolean): void;
  error?: string | undefined;
  required?: boolean;
  disabled?: boolean;
  children: ReactNode;
};

export function Checkbox({
  name,
  checked,
  onChange,
  error,
  required,
  disabled,
  children,
}: CheckboxProps) {
  const id = useId();
  return (
    <div>
      <label className="check">
        <input
          type="checkbox"
          name={name}
          checked={checked}
          required={required}
          disabled={disabled}
          // Without it browsers report a required box as wrong before anybody has touched it.
          aria-invalid={!!error}
          aria-describedby={error ? `${id}-error` : undefined}
          onChange={(event) => onChange?.(event.target.checked)}
        />
        <span>{children}</span>
      </label>
      {error && (
        <p className="field__error" id={`${id}-error`}>
          {error}
        </p>
      )}
    </div>
  );
}

/**
 * A link that opens a new tab, because leaving the page would lose the cart or the form's input.
 */
export function NewTabLink({ href, children }: { href: string; children: ReactNode }) {
  return (
    <a href={href} target="_blank" rel="noopener">
      {children}
      <span className="visually-hidden"> (se abre en otra pestaña)</span>
    </a>
  );
}

export const TermsLabel = () => (
  <>
    Acepto los <NewTabLink href="/terminos">términos y condiciones</NewTabLink>
  </>
);

export const PrivacyLabel = () => (
  <>
    Acepto la <NewTabLink href="/privacidad">política de privacidad</NewTabLink>
  </>
);

/**
 * The privacy information next to a form's button: who processes the data and why. `purpose`
 * completes the sentence "trata tus datos para …".
 */
export function PrivacyNote({ academy, purpose }: { academy: Academy; purpose: string }) {
  return (
    <p className="form__note">
      {academy.legalName} trata tus datos para {purpose}. Más en la{" "}
      <NewTabLink href="/privacidad">información sobre privacidad</NewTabLink>.
    </p>
  );
}

function describe(...ids: (string | false | undefined | "")[]): string | undefined {
  return ids.filter(Boolean).join(" ") || undefined;
}

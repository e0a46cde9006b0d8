/** Form fields with their labels, hints and errors; links that keep the page. */
import type { ComponentProps, ReactNode } from "react";
import { useId } from "react";

export type FrameProps = {
  label: string;
  hint?: string | undefined;
  error?: string | undefined;
};
type FieldProps = ComponentProps<"input"> & FrameProps;

export function Field({ label, hint, error, className, ...input }: FieldProps) {
  return (
    <Frame label={label} hint={hint} error={error} className={className}>
      {(attributes) => <input {...input} {...attributes} />}
    </Frame>
  );
}

type Attributes = {
  id: string;
  className: string;
  "aria-invalid": true | undefined;
  "aria-describedby": string | undefined;
};

/** Label, hint and error around any control, which takes the attributes that tie them to it. */
export function Frame({
  label,
  hint,
  error,
  className,
  children,
}: FrameProps & {
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
        "aria-invalid": error ? true : undefined,
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

type CheckProps = {
  name?: string;
  /** Left out, with `onChange`, the box keeps its own state until the form is read. */
  checked?: boolean;
  onChange?(checked: boolean): void;
  error?: string | undefined;
  required?: boolean;
  disabled?: boolean;
  children: ReactNode;
};

export function Check({
  name,
  checked,
  onChange,
  error,
  required,
  disabled,
  children,
}: CheckProps) {
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
          aria-invalid={error ? true : undefined}
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

/** A link that keeps what was typed: carts and half-filled forms live in this page only. */
export function NewTab({ href, children }: { href: string; children: ReactNode }) {
  return (
    <a href={href} target="_blank" rel="noopener">
      {children}
      <span className="visually-hidden"> (se abre en otra pestaña)</span>
    </a>
  );
}

function describe(...ids: (string | false | undefined | "")[]): string | undefined {
  return ids.filter(Boolean).join(" ") || undefined;
}

/** Shared code of the lead forms: validation, sending, and error messages at the fields. */
import {
  type ComponentProps,
  type FormEvent,
  type RefObject,
  useEffect,
  useRef,
  useState,
} from "react";
import * as z from "zod/mini";
import { ApiError } from "../http/api";
import { toast } from "../page/toast";
import { Field, FieldFrame, type FieldFrameProps, type FieldProps } from "./fields";

type Errors = { [field: string]: string | undefined };

type LeadForm = {
  errors: Errors;
  sending: boolean;
  /** For the `<form>`. */
  attributes: {
    ref: RefObject<HTMLFormElement | null>;
    onSubmit(event: FormEvent<HTMLFormElement>): void;
    onInput(event: FormEvent<HTMLFormElement>): void;
    noValidate: boolean;
  };
};

/**
 * State and event handlers of a lead form. The form's fields have the names of the schema's keys,
 * and the schema's order is the order of the checks. When the input is invalid, a toast shows the
 * first message in that order, each field shows its own message, and the first invalid field on the
 * page gets the focus. An ApiError from `send` is shown in the same way, with the server's message
 * if the server rejected the input, otherwise with the text `failure`; if no field is invalid, the
 * submit button gets the focus.
 */
export function useLeadForm<Schema extends z.ZodMiniType<object>>(
  schema: Schema,
  send: (input: z.output<Schema>) => Promise<void>,
  failure: string,
): LeadForm {
  const ref = useRef<HTMLFormElement>(null);
  const [errors, setErrors] = useState<Errors>({});
  const [sending, setSending] = useState(false);
  const focusPending = useRef(false);

  function showErrors(found: Errors, message: string) {
    setErrors(found);
    toast({ title: "Error", text: message, tone: "error" });
    focusPending.current = true;
  }

  // Fields and button may be disabled while sending: set the focus only once they are enabled
  // again.
  useEffect(() => {
    if (sending || !focusPending.current) return;
    focusPending.current = false;
    const fields = [...(ref.current?.elements ?? [])] as HTMLInputElement[];
    const invalid = fields.find(({ name }) => errors[name]);
    (invalid ?? fields.find(({ type }) => type === "submit"))?.focus();
  });

  async function onSubmit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    if (sending) return;
    const parsed = z.safeParse(schema, Object.fromEntries(new FormData(event.currentTarget)));
    if (!parsed.success) {
      return showErrors(messagesByField(parsed.error), parsed.error.issues[0]?.message ?? failure);
    }
    setErrors({});
    setSending(true);
    try {
      await send(parsed.data);
    } catch (error) {
      showErrors(fieldErrors(error), errorMessage(error, failure));
    } finally {
      setSending(false);
    }
  }

  /** Typing into a field removes its message. The next submit validates it again. */
  function onInput(event: FormEvent<HTMLFormElement>) {
    const { name } = event.target as HTMLInputElement;
    if (errors[name]) setErrors({ ...errors, [name]: undefined });
  }

  return { errors, sending, attributes: { ref, onSubmit, onInput, noValidate: true } };
}

/** The first message of each field. */
function messagesByField(error: z.core.$ZodError): Errors {
  const found: Errors = {};
  for (const { path, message } of error.issues) found[String(path[0])] ??= message;
  return found;
}

/** The server's message if it rejected the request (4xx), otherwise the text `failure`. */
export function errorMessage(error: unknown, failure: string): string {
  const rejected = error instanceof ApiError && error.status >= 400 && error.status < 500;
  if (rejected && error.code !== "unexpected") return error.message;
  console.error(error);
  return failure;
}

function fieldErrors(error: unknown): Errors {
  if (!(error instanceof ApiError)) return {};
  return Object.fromEntries(
    Object.entries(error.fields).map(([field, messages]) => [field, messages[0]]),
  );
}

/** A field that visitors neither see nor reach. The server discards forms in which it is filled. */
export function Honeypot() {
  return (
    <div className="visually-hidden" aria-hidden="true">
      <input name="website" type="text" tabIndex={-1} autoComplete="off" />
    </div>
  );
}

export const PhoneField = (props: Omit<FieldProps, "label"> & { label?: string }) => (
  <Field label="Teléfono" name="phone" type="tel" autoComplete="tel" required {...props} />
);

/** The submit button of a lead form. */
export function SubmitButton({ sending, children }: { sending: boolean; children: string }) {
  return (
    <button type="submit" className="button button--large" disabled={sending}>
      {sending ? "Enviando..." : children}
    </button>
  );
}

export function SelectField({
  label,
  hint,
  error,
  className,
  ...select
}: ComponentProps<"select"> & FieldFrameProps) {
  return (
    <FieldFrame label={label} hint={hint} error={error} className={className}>
      {(attributes) => <select {...select} {...attributes} />}
    </FieldFrame>
  );
}

export function TextField({
  label,
  hint,
  error,
  className,
  ...area
}: ComponentProps<"textarea"> & FieldFrameProps) {
  return (
    <FieldFrame label={label} hint={hint} error={error} className={className}>
      {(attributes) => <textarea {...area} {...attributes} />}
    </FieldFrame>
  );
}

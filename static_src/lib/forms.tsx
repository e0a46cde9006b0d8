/** What the forms of visitors have in common: checking, sending, errors at their fields. */
import {
  type ComponentProps,
  type FormEvent,
  type RefObject,
  useEffect,
  useRef,
  useState,
} from "react";
import * as z from "zod/mini";
import type { Academy } from "../schemas/academy";
import { ApiError } from "./api";
import { Frame, type FrameProps, NewTab } from "./fields";
import { toast } from "./toast";

type Errors = { [field: string]: string | undefined };

export type LeadForm = {
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
 * A form whose fields are named like the schema's keys, in the order in which they are checked
 * (site spec, section 5). What is wrong is said in a toast, the first message of that order, and
 * at each field; the focus goes to the first of them on the page, else to the button. `send` may throw an ApiError,
 * which is shown likewise: the server's sentence where it refuses, else `failure`.
 */
export function useLeadForm<Schema extends z.ZodMiniType<object>>(
  schema: Schema,
  send: (input: z.output<Schema>) => Promise<void>,
  failure: string,
): LeadForm {
  const ref = useRef<HTMLFormElement>(null);
  const [errors, setErrors] = useState<Errors>({});
  const [sending, setSending] = useState(false);
  const refused = useRef(false);

  function show(found: Errors, sentence: string) {
    setErrors(found);
    toast({ title: "Error", text: sentence, tone: "error" });
    refused.current = true;
  }

  // Only now are fields that were disabled meanwhile ready to take the focus, and the button too.
  useEffect(() => {
    if (sending || !refused.current) return;
    refused.current = false;
    const fields = [...(ref.current?.elements ?? [])] as HTMLInputElement[];
    const wrong = fields.find(({ name }) => errors[name]);
    (wrong ?? fields.find(({ type }) => type === "submit"))?.focus();
  });

  async function onSubmit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    if (sending) return;
    const parsed = z.safeParse(schema, Object.fromEntries(new FormData(event.currentTarget)));
    if (!parsed.success) {
      return show(messagesByField(parsed.error), parsed.error.issues[0]?.message ?? failure);
    }
    setErrors({});
    setSending(true);
    try {
      await send(parsed.data);
    } catch (error) {
      show(fieldsOf(error), refusal(error, failure));
    } finally {
      setSending(false);
    }
  }

  /** A message goes as soon as its field is mended; the next press checks again. */
  function onInput(event: FormEvent<HTMLFormElement>) {
    const { name } = event.target as HTMLInputElement;
    if (errors[name]) setErrors({ ...errors, [name]: undefined });
  }

  return { errors, sending, attributes: { ref, onSubmit, onInput, noValidate: true } };
}

/** The first message of each field. */
export function messagesByField(error: z.core.$ZodError): Errors {
  const found: Errors = {};
  for (const { path, message } of error.issues) found[String(path[0])] ??= message;
  return found;
}

/** The server's own sentence where it refuses; `failure` where it is away or at fault. */
export function refusal(error: unknown, failure: string): string {
  const refused = error instanceof ApiError && error.status >= 400 && error.status < 500;
  if (refused && error.code !== "unexpected") return error.message;
  console.error(error);
  return failure;
}

function fieldsOf(error: unknown): Errors {
  if (!(error instanceof ApiError)) return {};
  return Object.fromEntries(
    Object.entries(error.fields).map(([field, sentences]) => [field, sentences[0]]),
  );
}

/** People neither see nor reach it; who fills it in is a machine (decisions, "Forms and leads"). */
export function Honeypot() {
  return (
    <div className="visually-hidden" aria-hidden="true">
      <input name="website" type="text" tabIndex={-1} autoComplete="off" />
    </div>
  );
}

/** Who processes the data and why, at the button. `purpose` goes on after "para". */
export function PrivacyNote({ academy, purpose }: { academy: Academy; purpose: string }) {
  return (
    <p className="form__note">
      {academy.legalName} trata tus datos para {purpose}. Más en la{" "}
      <NewTab href="/privacidad">información sobre privacidad</NewTab>.
    </p>
  );
}

export const TermsWords = () => (
  <>
    Acepto los <NewTab href="/terminos">términos y condiciones</NewTab>
  </>
);

export function SelectField({
  label,
  hint,
  error,
  className,
  ...select
}: ComponentProps<"select"> & FrameProps) {
  return (
    <Frame label={label} hint={hint} error={error} className={className}>
      {(attributes) => <select {...select} {...attributes} />}
    </Frame>
  );
}

export function TextField({
  label,
  hint,
  error,
  className,
  ...area
}: ComponentProps<"textarea"> & FrameProps) {
  return (
    <Frame label={label} hint={hint} error={error} className={className}>
      {(attributes) => <textarea {...area} {...attributes} />}
    </Frame>
  );
}

// The tabs of the payment methods, and the card fields. The page communicates with this frame only through the port of its "init" message.
(() => {
  const form = document.getElementById("card");
  const fields = {
    number: document.getElementById("number"),
    expiry: document.getElementById("expiry"),
    cvc: document.getElementById("cvc"),
  };
  const VARIABLES = {
    colorPrimary: "--color-primary",
    colorBackground: "--color-background",
    colorText: "--color-text",
    colorTextSecondary: "--color-text-secondary",
    colorTextPlaceholder: "--color-text-secondary",
    colorDanger: "--color-danger",
    colorBorder: "--color-border",
    fontFamily: "--font-family",
    fontSizeBase: "--font-size",
    borderRadius: "--radius",
    spacingUnit: "--spacing",
  };
  const METHODS = { card: "Tarjeta", bizum: "Bizum", paypal: "PayPal" };
  const methods = document.getElementById("methods");
  const leaving = document.getElementById("leaving");
  let method = "card";
  let port = null;
  let key = "";

  const digitsOf = (field) => field.value.replace(/\D/g, "");
  const isAmex = (number) => /^3[47]/.test(number);
  const numberLength = (number) => (isAmex(number) ? 15 : 16);
  const cvcLength = () => (isAmex(digitsOf(fields.number)) ? 4 : 3);

  function luhnValid(number) {
    let sum = 0;
    [...number].reverse().forEach((digit, index) => {
      const value = Number(digit) * (index % 2 ? 2 : 1);
      sum += value > 9 ? value - 9 : value;
    });
    return sum % 10 === 0;
  }

  function grouped(number) {
    const sizes = isAmex(number) ? [4, 6, 5] : [4, 4, 4, 4];
    const groups = [];
    let at = 0;
    for (const size of sizes) {
      groups.push(number.slice(at, at + size));
      at += size;
    }
    return groups.filter(Boolean).join(" ");
  }

  function formattedExpiry(digits, deleting) {
    const padded = /^[2-9]/.test(digits) ? `0${digits}` : digits;
    const month = padded.slice(0, 2);
    const year = padded.slice(2, 4);
    if (month.length < 2 || (deleting && !year)) return month;
    return `${month} / ${year}`;
  }

  // For each field, its error as {code, message}, or null.
  const checks = {
    number() {
      const number = digitsOf(fields.number);
      if (number.length < numberLength(number)) {
        return { code: "incomplete_number", message: "El número de tu tarjeta está incompleto." };
      }
      if (luhnValid(number)) return null;
      return { code: "invalid_number", message: "El número de tu tarjeta no es válido." };
    },
    expiry() {
      const digits = digitsOf(fields.expiry);
      if (digits.length < 4) {
        return {
          code: "incomplete_expiry",
          message: "La fecha de caducidad de tu tarjeta está incompleta.",
        };
      }
      const month = Number(digits.slice(0, 2));
      const year = 2000 + Number(digits.slice(2));
      if (month < 1 || month > 12) {
        return {
          code: "invalid_expiry_month",
          message: "El mes de caducidad de tu tarjeta no es válido.",
        };
      }
      const today = new Date();
      if (year < today.getFullYear()) {
        return {
          code: "invalid_expiry_year_past",
          message: "El año de caducidad de tu tarjeta ya ha pasado.",
        };
      }
      if (year === today.getFullYear() && month < today.getMonth() + 1) {
        return {
          code: "invalid_expiry_month_past",
          message: "La fecha de caducidad de tu tarjeta ya ha pasado.",
        };
      }
      if (year > today.getFullYear() + 50) {
        return {
          code: "invalid_expiry_year",
          message: "El año de caducidad de tu tarjeta no es válido.",
        };
      }
      return null;
    },
    cvc() {
      if (digitsOf(fields.cvc).length === cvcLength()) return null;
      return {
        code: "incomplete_cvc",
        message: "El código de seguridad de tu tarjeta está incompleto.",
      };
    },
  };

  function show(name, problem) {
    document.getElementById(`${name}-error`).textContent = problem?.message ?? "";
    if (problem) fields[name].setAttribute("aria-invalid", "true");
    else fields[name].removeAttribute("aria-invalid");
  }

  function validate() {
    if (method !== "card") return null;
    let first = null;
    for (const name of Object.keys(fields)) {
      const problem = checks[name]();
      show(name, problem);
      if (problem && !first) {
        first = { type: "validation_error", ...problem };
        fields[name].focus();
      }
    }
    return first;
  }

  function announceChange() {
    const names = Object.keys(fields);
    const isCard = method === "card";
    port?.postMessage({
      type: "change",
      method,
      empty: isCard && names.every((name) => fields[name].value === ""),
      complete: !isCard || names.every((name) => checks[name]() === null),
    });
  }

  // One tab for each method. A single one needs none.
  function offer(offered) {
    const tabs = offered.map((name, position) => {
      const label = document.createElement("label");
      const radio = document.createElement("input");
      Object.assign(radio, { type: "radio", name: "method", value: name, checked: !position });
      radio.addEventListener("change", () => choose(name));
      label.append(radio, METHODS[name] ?? name);
      return label;
    });
    methods.replaceChildren(...tabs);
    methods.hidden = offered.length < 2;
    choose(offered[0]);
  }

  function choose(name) {
    method = name;
    for (const field of document.querySelectorAll(".field")) field.hidden = name !== "card";
    leaving.hidden = name === "card";
    leaving.textContent =
      name === "bizum"
        ? "Al pagar irás a Bizum y aprobarás el pago en la app de tu banco."
        : `Al pagar irás a ${METHODS[name]} para aprobar el pago.`;
    announceChange();
  }

  // Keep the caret behind the same digit while the text is formatted.
  function reformat(field, text) {
    const digitsBefore = field.value.slice(0, field.selectionStart).replace(/\D/g, "").length;
    const atEnd = field.selectionStart === field.value.length;
    field.value = text;
    if (atEnd) return;
    let position = 0;
    let seen = 0;
    while (position < text.length && seen < digitsBefore) {
      if (/\d/.test(text[position])) seen += 1;
      position += 1;
    }
    field.setSelectionRange(position, position);
  }

  function onInput(name, event) {
    const field = fields[name];
    const digits = digitsOf(field);
    const deleting = event.inputType?.startsWith("delete") ?? false;
    if (name === "number") reformat(field, grouped(digits.slice(0, numberLength(digits))));
    if (name === "expiry") {
      // Autofill writes MM/YYYY.
      const short = digits.length === 6 ? digits.slice(0, 2) + digits.slice(4) : digits.slice(0, 4);
      reformat(field, formattedExpiry(short, deleting));
    }
    if (name === "cvc") reformat(field, digits.slice(0, 4));
    const problem = checks[name]();
    const unfinished = problem?.code.startsWith("incomplete") ?? false;
    show(name, unfinished ? null : problem);
    if (problem === null && !deleting && field.selectionStart === field.value.length) moveOn(name);
    announceChange();
  }

  function moveOn(name) {
    const next = { number: "expiry", expiry: "cvc" }[name];
    if (next && fields[next].value === "") fields[next].focus();
  }

  function encoded(values, prefix, body) {
    for (const [name, value] of Object.entries(values)) {
      const path = prefix ? `${prefix}[${name}]` : name;
      if (value === undefined || value === null || value === "") continue;
      if (typeof value === "object") encoded(value, path, body);
      else body.append(path, String(value));
    }
    return body;
  }

  async function create(data) {
    const error = validate();
    if (error) return { error };
    if (method !== "card") return post({ type: method, billing_details: data.billing_details });
    const expiry = digitsOf(fields.expiry);
    const card = {
      number: digitsOf(fields.number),
      exp_month: Number(expiry.slice(0, 2)),
      exp_year: 2000 + Number(expiry.slice(2)),
      cvc: digitsOf(fields.cvc),
    };
    return post({ type: "card", card, billing_details: data.billing_details });
  }

  async function post(values) {
    try {
      const response = await fetch("/v1/payment_methods", {
        method: "POST",
        headers: { Authorization: `Bearer ${key}` },
        body: encoded(values, "", new URLSearchParams()),
      });
      const answer = await response.json();
      return answer.error ? { error: answer.error } : { object: answer };
    } catch {
      const message = "No se ha podido conectar con la pasarela de pago. Inténtalo de nuevo.";
      return { error: { type: "api_connection_error", message } };
    }
  }

  function apply({ theme, variables, disabled }) {
    const root = document.documentElement;
    root.classList.toggle("dark", theme === "dark");
    for (const [name, property] of Object.entries(VARIABLES)) {
      if (variables[name]) root.style.setProperty(property, variables[name]);
      else root.style.removeProperty(property);
    }
    for (const field of Object.values(fields)) field.disabled = disabled;
  }

  // The fields that are shown first: the tab that is chosen, or the card's number.
  function focus() {
    const tab = methods.hidden ? null : methods.querySelector(":checked");
    (method === "card" ? fields.number : (tab ?? fields.number)).focus();
  }

  async function receive({ type, id, data, ...rest }) {
    if (type === "update") apply(rest);
    else if (type === "methods") offer(rest.methods);
    else if (type === "focus") focus();
    else if (type === "blur") document.activeElement?.blur();
    else if (type === "clear") {
      form.reset();
      for (const name of Object.keys(fields)) show(name, null);
      announceChange();
    } else {
      const result = type === "validate" ? validate() : await create(data);
      port.postMessage({ type: "answer", id, result });
    }
  }

  function start(event) {
    // Only the parent window may connect, and only once.
    if (port || event.source !== window.parent || event.data?.type !== "init") return;
    port = event.ports[0];
    key = event.data.key;
    apply(event.data);
    port.onmessage = (message) => receive(message.data);
    form.hidden = false;
    new ResizeObserver(() => {
      port.postMessage({
        type: "height",
        height: Math.ceil(form.getBoundingClientRect().height) + 8,
      });
    }).observe(form);
    port.postMessage({ type: "ready" });
  }

  for (const [name, field] of Object.entries(fields)) {
    field.addEventListener("input", (event) => onInput(name, event));
    field.addEventListener("blur", () => {
      if (field.value !== "") show(name, checks[name]());
    });
  }
  form.addEventListener("focusin", (event) => {
    if (!form.contains(event.relatedTarget)) port?.postMessage({ type: "focus" });
  });
  form.addEventListener("focusout", (event) => {
    if (!form.contains(event.relatedTarget)) port?.postMessage({ type: "blur" });
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") port?.postMessage({ type: "escape" });
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  window.addEventListener("message", start);
})();

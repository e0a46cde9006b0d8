import { Emitter } from "./emitter.js";
import { ExpressCheckoutElement } from "./express_checkout.js";
import { openFrame } from "./frames.js";
import { isDark } from "./look.js";
import { CONNECTION_MESSAGES, integrationError, languageOf, SPANISH_MESSAGES } from "./messages.js";

const ELEMENT_TYPES = ["payment", "expressCheckout"];
const READY_TIMEOUT_MS = 20000;

class Element extends Emitter {
  #elements;
  #type;
  #options;
  #frame = null;
  #container = null;
  #timer = 0;
  // The payment method that the customer has chosen.
  paymentMethod = "card";
  #questions = new Map();
  #lastQuestion = 0;

  constructor(elements, type, options) {
    super();
    this.#elements = elements;
    this.#type = type;
    this.#options = options ?? {};
  }

  mount(target) {
    const container = typeof target === "string" ? document.querySelector(target) : target;
    if (!container)
      throw integrationError("The selector you specified applies to no DOM elements.");
    if (this.#container === container) return;
    this.unmount();
    this.#container = container;
    this.#frame = openFrame({
      path: "/v3/frame/payment",
      title: "Marco de entrada de pago seguro",
      styles: {
        display: "block",
        // The focus rings of the fields need 4 px of space, as in Stripe's frame.
        margin: "-4px",
        width: "calc(100% + 8px)",
        height: "190px",
        "user-select": "none",
        "color-scheme": this.#scheme(),
      },
      init: () => ({ key: this.#elements.key, ...this.#look() }),
      onMessage: (message) => this.#receive(message),
    });
    container.replaceChildren(this.#frame.iframe);
    this.emit("loaderstart", { elementType: this.#type });
    this.#timer = setTimeout(
      () => this.#failToLoad({ type: "api_connection_error" }),
      READY_TIMEOUT_MS,
    );
  }

  unmount() {
    clearTimeout(this.#timer);
    this.#frame?.close();
    this.#frame = null;
    this.#container = null;
    for (const { reject } of this.#questions.values()) {
      reject(integrationError("The Element was unmounted before it could answer."));
    }
    this.#questions.clear();
  }

  destroy() {
    this.unmount();
    this.forgetListeners();
    this.#elements.forget(this.#type);
  }

  update(options) {
    this.#options = { ...this.#options, ...options };
    this.#frame?.send({ type: "update", ...this.#look() });
  }

  restyle() {
    this.#frame?.iframe.style.setProperty("color-scheme", this.#scheme());
    this.#frame?.send({ type: "update", ...this.#look() });
  }

  focus() {
    this.#frame?.iframe.focus();
    this.#frame?.send({ type: "focus" });
  }

  blur() {
    this.#frame?.send({ type: "blur" });
  }

  clear() {
    this.#frame?.send({ type: "clear" });
  }

  // Send "validate" or "payment_method" to the frame and wait for its answer.
  ask(type, data = {}) {
    if (!this.#frame)
      throw integrationError("The Element is not mounted; mount it before you use it.");
    this.#lastQuestion += 1;
    const id = this.#lastQuestion;
    return new Promise((resolve, reject) => {
      this.#questions.set(id, { resolve, reject });
      this.#frame.send({ type, id, data });
    });
  }

  billingDetails() {
    return this.#options.defaultValues?.billingDetails;
  }

  #scheme() {
    return isDark(this.#elements.options.appearance) ? "dark" : "light";
  }

  #look() {
    const { appearance } = this.#elements.options;
    return {
      theme: this.#scheme(),
      variables: appearance?.variables ?? {},
      disabled: Boolean(this.#options.readOnly || this.#options.disabled),
    };
  }

  async #receive(message) {
    const { type, ...data } = message;
    if (type === "height") this.#frame?.iframe.style.setProperty("height", `${data.height}px`);
    else if (type === "answer") {
      const question = this.#questions.get(data.id);
      this.#questions.delete(data.id);
      question?.resolve(data.result);
    } else if (type === "ready") await this.#loaded();
    else if (type === "change") {
      const { method, ...rest } = data;
      this.paymentMethod = method;
      const value = { type: method };
      this.emit("change", { elementType: this.#type, collapsed: false, value, ...rest });
    } else if (["focus", "blur", "escape"].includes(type))
      this.emit(type, { elementType: this.#type });
  }

  async #loaded() {
    clearTimeout(this.#timer);
    const { problem, methods } = await this.#elements.look();
    if (!this.#frame) return;
    if (problem) {
      this.#failToLoad(problem);
      return;
    }
    this.#frame.send({ type: "methods", methods: this.#inOrder(methods) });
    this.emit("ready", { elementType: this.#type });
  }

  // Those of `paymentMethodOrder` first.
  #inOrder(methods) {
    const order = this.#options.paymentMethodOrder ?? [];
    const place = (method) => (order.includes(method) ? order.indexOf(method) : order.length);
    return [...methods].sort((one, other) => place(one) - place(other));
  }

  #failToLoad(error) {
    const { locale } = this.#elements.options;
    const message = error.message ?? CONNECTION_MESSAGES[languageOf(locale)];
    this.emit("loaderror", { elementType: this.#type, error: { ...error, message } });
  }
}

export class Elements {
  #elements = new Map();
  #api;
  #submitted = false;

  constructor(api, options) {
    this.#api = api;
    this.options = { ...options };
  }

  get key() {
    return this.#api.key;
  }

  create(type, options) {
    if (!ELEMENT_TYPES.includes(type)) {
      throw integrationError(`The Stripe sandbox has no "${type}" Element.`);
    }
    if (this.#elements.has(type)) {
      throw integrationError(
        `Can only create one Element of type ${type} through the Elements group.`,
      );
    }
    const element =
      type === "expressCheckout"
        ? new ExpressCheckoutElement(this, options)
        : new Element(this, type, options);
    this.#elements.set(type, element);
    return element;
  }

  getElement(type) {
    return this.#elements.get(type?.__elementType ?? type) ?? null;
  }

  forget(type) {
    this.#elements.delete(type);
  }

  async update(options) {
    if ("clientSecret" in options) throw integrationError("clientSecret can't be updated.");
    this.options = { ...this.options, ...options };
    for (const element of this.#elements.values()) element.restyle();
  }

  // Checks the fields. The frame shows the errors.
  async submit() {
    const error = await this.#only().ask("validate");
    this.#submitted = !error;
    return error ? { error } : { selectedPaymentMethod: this.#only().paymentMethod ?? "card" };
  }

  // As at Stripe: if the intent is created after the form was shown, the page calls submit() first.
  requireSubmit(caller) {
    if (!this.options.clientSecret && !this.#submitted) {
      throw integrationError(`elements.submit() must be called before stripe.${caller}().`);
    }
  }

  // As at Stripe: what the customer was shown must be what the intent charges and saves.
  async requireSameTerms(clientSecret) {
    if (this.options.clientSecret) return;
    const { intent } = await this.#api.retrieve(clientSecret, this.options.locale);
    const { amount, currency, setupFutureUsage = null } = this.options;
    const shown = { amount, currency, setup_future_usage: setupFutureUsage };
    for (const [name, value] of Object.entries(intent ? shown : {})) {
      if (intent[name] === value) continue;
      throw integrationError(
        `The ${name} of the Elements group (${value}) does not match the intent's (${intent[name]}).`,
      );
    }
  }

  async createPaymentMethod(billingDetails) {
    const element = this.#only();
    const details = { ...element.billingDetails(), ...billingDetails };
    return element.ask("payment_method", { billing_details: details });
  }

  // The payment methods of this group's intent, or the `problem` why it can't be confirmed.
  async look() {
    const { clientSecret, locale } = this.options;
    if (!clientSecret) return { methods: ["card"] };
    const { intent, error } = await this.#api.retrieve(clientSecret, locale);
    if (error) return { problem: error };
    if (!["succeeded", "canceled", "processing"].includes(intent.status)) {
      return { methods: intent.payment_method_types };
    }
    const code = `${intent.object}_unexpected_state`;
    const message = SPANISH_MESSAGES[code];
    const problem = { type: "invalid_request_error", code, message, [intent.object]: intent };
    return { problem };
  }

  #only() {
    const [element] = this.#elements.values();
    if (!element) throw integrationError("No Element was created in this Elements group.");
    return element;
  }
}

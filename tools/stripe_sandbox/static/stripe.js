import { Elements } from "./elements.js";
import { formEncoded, ORIGIN, openChallenge } from "./frames.js";
import { CONNECTION_MESSAGES, integrationError, languageOf, localized } from "./messages.js";

class Api {
  constructor(key) {
    this.key = key;
  }

  // Resolves to {object}, or to {error} as Stripe formats it. Never rejects.
  async call(method, path, values, locale) {
    const form = formEncoded(values);
    const query = method === "GET" ? `?${form}` : "";
    try {
      const response = await fetch(`${ORIGIN}${path}${query}`, {
        method,
        credentials: "omit",
        headers: { Authorization: `Bearer ${this.key}` },
        ...(method === "POST" ? { body: form } : {}),
      });
      const answer = await response.json();
      return answer.error ? { error: localized(answer.error, locale) } : { object: answer };
    } catch {
      const message = CONNECTION_MESSAGES[languageOf(locale)];
      return { error: { type: "api_connection_error", message } };
    }
  }

  // Resolves to {intent} or {error} for the client secret of a payment or setup intent.
  async retrieve(clientSecret, locale) {
    const { path } = intentOf(clientSecret);
    const values = { client_secret: clientSecret };
    const { object, error } = await this.call("GET", path, values, locale);
    return error ? { error } : { intent: object };
  }
}

// The intent of a client secret: its path in the API, and its names in the results of Stripe.js.
function intentOf(clientSecret, kind) {
  const match = /^((pi|seti)_\S+)_secret_[A-Za-z0-9]+$/.exec(clientSecret ?? "");
  if (!match || (kind && match[2] !== kind)) {
    const form = kind ?? "pi_… or seti";
    throw integrationError(`The client secret must have the form ${form}_…_secret_….`);
  }
  const prefix = match[2];
  const id = encodeURIComponent(match[1]);
  return prefix === "pi"
    ? { path: `/v1/payment_intents/${id}`, result: "paymentIntent", name: "payment_intent" }
    : { path: `/v1/setup_intents/${id}`, result: "setupIntent", name: "setup_intent" };
}

class StripeClient {
  #api;
  #locale;
  #wrappers = [];

  constructor(key, options) {
    this.#api = new Api(key);
    this.#locale = options?.locale ?? "auto";
  }

  _registerWrapper(wrapper) {
    this.#wrappers.push(wrapper);
  }

  registerAppInfo(info) {
    this.#wrappers.push(info);
  }

  // Only the sandbox's hosted page uses this.
  _localized(error) {
    return localized(error, this.#locale);
  }

  elements(options) {
    if (options?.clientSecret) intentOf(options.clientSecret);
    return new Elements(this.#api, { locale: this.#locale, ...options });
  }

  confirmPayment(options) {
    return this.#confirmWithElements("confirmPayment", "pi", options);
  }

  confirmSetup(options) {
    return this.#confirmWithElements("confirmSetup", "seti", options);
  }

  async #confirmWithElements(caller, kind, options) {
    const { elements, clientSecret, confirmParams = {}, redirect } = options;
    if (redirect !== "if_required") {
      throw integrationError(`stripe.${caller}(): the sandbox has only redirect: "if_required".`);
    }
    const secret = clientSecret ?? elements?.options.clientSecret;
    const locale = elements?.options.locale ?? this.#locale;
    const { payment_method_data: data, return_url: returnUrl, ...rest } = confirmParams;
    intentOf(secret, kind);
    let method = rest.payment_method;
    if (!method) {
      elements.requireSubmit(caller);
      const { error } = await elements.submit();
      if (error) return { error };
      await elements.requireSameTerms(secret);
      const created = await elements.createPaymentMethod(data?.billing_details);
      if (created.error) return { error: localized(created.error, locale) };
      method = created.object.id;
    }
    const values = { ...rest, payment_method: method, return_url: returnUrl };
    return this.#confirm(secret, values, locale);
  }

  // Confirms with a saved card: `data.payment_method` is its id.
  confirmCardPayment(clientSecret, data) {
    intentOf(clientSecret, "pi");
    const values = { ...data, expected_payment_method_type: "card" };
    return this.#confirm(clientSecret, values, this.#locale);
  }

  async handleNextAction({ clientSecret }) {
    const { intent, error } = await this.#api.retrieve(clientSecret, this.#locale);
    return error ? { error } : this.#act(intent, clientSecret, this.#locale);
  }

  async createPaymentMethod({ elements, params }) {
    const created = await elements.createPaymentMethod(params?.billing_details);
    return created.error
      ? { error: localized(created.error, this.#locale) }
      : { paymentMethod: created.object };
  }

  // React's library takes an object without this method for something else than Stripe.
  createToken() {
    throw integrationError("The Stripe sandbox has no tokens.");
  }

  async #confirm(clientSecret, values, locale) {
    const { path } = intentOf(clientSecret);
    const sent = { ...values, client_secret: clientSecret, use_stripe_sdk: true };
    const { object, error } = await this.#api.call("POST", `${path}/confirm`, sent, locale);
    if (error) return { error };
    return this.#act(object, clientSecret, locale);
  }

  // Shows the 3-D Secure challenge, or leaves for Bizum or PayPal, if the intent requires it.
  async #act(intent, clientSecret, locale) {
    const { result, name } = intentOf(clientSecret);
    if (intent.status !== "requires_action") return { [result]: intent };
    if (intent.next_action.type === "redirect_to_url") {
      // As at Stripe: the browser leaves the page, so the promise is never settled.
      window.location.assign(intent.next_action.redirect_to_url.url);
      return new Promise(() => undefined);
    }
    await openChallenge(intent.next_action.use_stripe_sdk.stripe_js);
    const { intent: after, error } = await this.#api.retrieve(clientSecret, locale);
    if (error) return { error };
    if (after.status === "requires_payment_method") {
      const failure = localized(after.last_payment_error ?? after.last_setup_error, locale);
      return { error: { ...failure, [name]: after } };
    }
    return { [result]: after };
  }
}

function Stripe(key, options) {
  if (typeof key !== "string" || !key.startsWith("pk_")) {
    throw integrationError("Stripe(): please call it with your publishable key (pk_…).");
  }
  return new StripeClient(key, options);
}
Stripe.version = "sandbox";
window.Stripe = Stripe;

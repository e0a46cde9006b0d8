import { Elements } from "./elements.js";
import { formEncoded, ORIGIN, openChallenge } from "./frames.js";
import { CONNECTION_MESSAGES, integrationError, languageOf, localized } from "./messages.js";

class Api {
  constructor(key) {
    this.key = key;
  }

  // The object, or {error} in Stripe's shape; never rejects.
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

  async retrieve(clientSecret, locale) {
    const path = `/v1/payment_intents/${intentId(clientSecret)}`;
    const { object, error } = await this.call("GET", path, { client_secret: clientSecret }, locale);
    return error ? { error } : { paymentIntent: object };
  }
}

function intentId(clientSecret) {
  const match = /^(pi_[A-Za-z0-9]+)_secret_[A-Za-z0-9]+$/.exec(clientSecret ?? "");
  if (!match) throw integrationError("The client secret must have the form pi_…_secret_….");
  return match[1];
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

  // For the stand-in's own hosted page alone.
  _localized(error) {
    return localized(error, this.#locale);
  }

  elements(options) {
    if (options?.clientSecret) intentId(options.clientSecret);
    return new Elements(this.#api, { locale: this.#locale, ...options });
  }

  retrievePaymentIntent(clientSecret) {
    return this.#api.retrieve(clientSecret, this.#locale);
  }

  async confirmPayment({ elements, clientSecret, confirmParams = {}, redirect = "always" }) {
    const secret = clientSecret ?? elements?.options.clientSecret;
    const locale = elements?.options.locale ?? this.#locale;
    const { payment_method_data: data, return_url: returnUrl, ...rest } = confirmParams;
    if (redirect === "always" && !returnUrl) {
      throw integrationError(
        "stripe.confirmPayment(): the confirmParams.return_url argument is required.",
      );
    }
    intentId(secret);
    let method = rest.payment_method;
    if (!method) {
      elements.requireSubmit();
      const { error } = await elements.submit();
      if (error) return { error };
      const created = await elements.createPaymentMethod(data?.billing_details);
      if (created.error) return { error: localized(created.error, locale) };
      method = created.object.id;
    }
    const values = { ...rest, payment_method: method, return_url: returnUrl };
    const result = await this.#confirm(secret, values, locale);
    if (result.error || redirect === "if_required") return result;
    const address = new URL(returnUrl, location.href);
    address.searchParams.set("payment_intent", result.paymentIntent.id);
    address.searchParams.set("payment_intent_client_secret", secret);
    address.searchParams.set("redirect_status", "succeeded");
    location.assign(address);
    return new Promise(() => {}); // the page is being left
  }

  async confirmCardPayment(clientSecret, data = {}, { handleActions = true } = {}) {
    const { payment_method: given, ...rest } = data;
    let method = given;
    if (given && typeof given === "object") {
      const created = await given.card.ask("payment_method", {
        billing_details: given.billing_details,
      });
      if (created.error) return { error: localized(created.error, this.#locale) };
      method = created.object.id;
    }
    const values = { ...rest, payment_method: method, expected_payment_method_type: "card" };
    return this.#confirm(clientSecret, values, this.#locale, handleActions);
  }

  async handleNextAction({ clientSecret }) {
    const { paymentIntent, error } = await this.#api.retrieve(clientSecret, this.#locale);
    return error ? { error } : this.#act(paymentIntent, clientSecret, this.#locale);
  }

  async createPaymentMethod(first, card, data) {
    const { elements, params, ...direct } =
      typeof first === "string" ? { type: first, card, ...data } : first;
    const element = elements ? null : direct.card;
    const billing = params?.billing_details ?? direct.billing_details;
    const created = elements
      ? await elements.createPaymentMethod(billing)
      : await element.ask("payment_method", { billing_details: billing });
    return created.error
      ? { error: localized(created.error, this.#locale) }
      : { paymentMethod: created.object };
  }

  async createToken(element) {
    const created = await element.ask("token");
    return created.error
      ? { error: localized(created.error, this.#locale) }
      : { token: created.object };
  }

  async #confirm(clientSecret, values, locale, handleActions = true) {
    const path = `/v1/payment_intents/${intentId(clientSecret)}/confirm`;
    const sent = { ...values, client_secret: clientSecret, use_stripe_sdk: true };
    const { object, error } = await this.#api.call("POST", path, sent, locale);
    if (error) return { error };
    return handleActions ? this.#act(object, clientSecret, locale) : { paymentIntent: object };
  }

  // Takes the customer through 3-D Secure where the payment waits for it.
  async #act(intent, clientSecret, locale) {
    if (intent.status !== "requires_action") return { paymentIntent: intent };
    const action = intent.next_action;
    if (action.type === "redirect_to_url") {
      location.assign(action.redirect_to_url.url);
      return new Promise(() => {}); // the page is being left
    }
    await openChallenge(action.use_stripe_sdk.stripe_js);
    const { paymentIntent, error } = await this.#api.retrieve(clientSecret, locale);
    if (error) return { error };
    if (paymentIntent.status === "requires_payment_method") {
      const failure = localized(paymentIntent.last_payment_error, locale);
      return { error: { ...failure, payment_intent: paymentIntent } };
    }
    return { paymentIntent };
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

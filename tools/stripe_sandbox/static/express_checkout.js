import { Emitter } from "./emitter.js";
import { openFrame, openOverPage } from "./frames.js";
import { isDark } from "./look.js";
import { CONNECTION_MESSAGES, integrationError, languageOf } from "./messages.js";

const BUTTON_TIMEOUT_MS = 20000;
const CLICK_TIMEOUT_MS = 1000;
const BUTTON_HEIGHT = 44;
// The test wallet plays Google Pay: it pays with a card.
const METHODS = {
  amazonPay: false,
  applePay: false,
  googlePay: true,
  klarna: false,
  link: false,
  paypal: false,
};

// The Express Checkout Element: one button, "Cartera de prueba", and the sheet that it opens.
export class ExpressCheckoutElement extends Emitter {
  paymentMethod = "google_pay";
  #elements;
  #options;
  #button = null;
  #sheet = null;
  #container = null;
  #timer = 0;
  #authorized = null;

  constructor(elements, options) {
    super();
    const { mode, amount, currency } = elements.options;
    if (mode === "payment" && (!Number.isInteger(amount) || amount < 1 || !currency)) {
      throw integrationError('elements(): mode "payment" needs an amount in cents and a currency.');
    }
    this.#elements = elements;
    this.#options = options ?? {};
  }

  mount(target) {
    const container = typeof target === "string" ? document.querySelector(target) : target;
    if (!container) throw integrationError("The selector applies to no DOM elements.");
    if (this.#container === container) return;
    this.unmount();
    this.#container = container;
    this.#button = openFrame({
      path: "/v3/frame/express",
      title: "Marco de botón de pago seguro",
      // The focus ring of the button needs 4 px of space, as in Stripe's frame.
      styles: { display: "block", margin: "-4px", width: "calc(100% + 8px)", height: "0" },
      init: () => this.#look(),
      onMessage: (message) => this.#receive(message),
    });
    this.restyle();
    container.replaceChildren(this.#button.iframe);
    this.#timer = setTimeout(() => this.#failToLoad(), BUTTON_TIMEOUT_MS);
  }

  unmount() {
    clearTimeout(this.#timer);
    this.#sheet?.close();
    this.#button?.close();
    this.#sheet = null;
    this.#button = null;
    this.#container = null;
  }

  destroy() {
    this.unmount();
    this.forgetListeners();
    this.#elements.forget("expressCheckout");
  }

  update(options) {
    this.#options = { ...this.#options, ...options };
    this.restyle();
  }

  restyle() {
    this.#button?.iframe.style.setProperty("color-scheme", this.#look().theme);
    this.#button?.send({ type: "update", ...this.#look() });
  }

  focus() {
    this.#button?.iframe.focus();
    this.#button?.send({ type: "focus" });
  }

  blur() {
    this.#button?.send({ type: "blur" });
  }

  billingDetails() {}

  // The payment method of the last authorization. An authorization pays once.
  async ask(type) {
    if (!this.#authorized) throw integrationError("The customer has not authorized a payment.");
    if (type === "validate") return null;
    const object = this.#authorized;
    this.#authorized = null;
    return { object };
  }

  #look() {
    const { appearance } = this.#elements.options;
    return {
      theme: isDark(appearance) ? "dark" : "light",
      radius: appearance?.variables?.borderRadius ?? "4px",
      height: this.#options.buttonHeight ?? BUTTON_HEIGHT,
    };
  }

  #receive({ type, available }) {
    const elementType = "expressCheckout";
    if (type === "ready") {
      clearTimeout(this.#timer);
      const height = available ? `${this.#look().height + 8}px` : "0";
      this.#button?.iframe.style.setProperty("height", height);
      this.emit("ready", { elementType, availablePaymentMethods: available ? METHODS : undefined });
    } else if (type === "click") this.#click();
    else if (["focus", "blur", "escape"].includes(type)) this.emit(type, { elementType });
  }

  #failToLoad() {
    const message = CONNECTION_MESSAGES[languageOf(this.#elements.options.locale)];
    const error = { type: "api_connection_error", message };
    this.emit("loaderror", { elementType: "expressCheckout", error });
  }

  #click() {
    if (this.#sheet) return;
    let answered = false;
    const once = (answer) => () => {
      if (answered) return;
      answered = true;
      answer();
    };
    setTimeout(
      once(() => console.warn("The click event was not resolved within 1 second.")),
      CLICK_TIMEOUT_MS,
    );
    this.emit("click", {
      elementType: "expressCheckout",
      expressPaymentType: this.paymentMethod,
      resolve: once(() => this.#openSheet()),
      reject: once(() => undefined),
    });
  }

  #openSheet() {
    const { amount, currency, setupFutureUsage } = this.#elements.options;
    const { emailRequired = false, phoneNumberRequired = false } = this.#options;
    this.#sheet = openOverPage({
      path: "/v3/frame/wallet",
      title: "Cartera de prueba",
      init: () => ({
        key: this.#elements.key,
        amount,
        currency,
        saves: setupFutureUsage === "off_session",
        asks: { email: emailRequired, phone: phoneNumberRequired },
      }),
      onDone: (message) => this.#leaveSheet(message),
    });
  }

  #leaveSheet({ method, billingDetails }) {
    this.#sheet = null;
    if (!method) {
      this.focus();
      this.emit("cancel", { elementType: "expressCheckout" });
      return;
    }
    this.#authorized = method;
    this.emit("confirm", {
      elementType: "expressCheckout",
      expressPaymentType: this.paymentMethod,
      billingDetails,
      // The sheet is closed already, as that of Google Pay.
      paymentFailed: () => {
        this.#authorized = null;
      },
    });
  }
}

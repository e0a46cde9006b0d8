import { describe, expect, it } from "vitest";
import { Academy } from "../../schemas/academy";
import { waysToPay } from "./waysToPay";

const academy = (bizum: boolean, paypal: boolean) =>
  Academy.parse({
    legal_name: "Academia",
    support_email: "hola@example.com",
    support_phone: "+34910000000",
    other_payments: "",
    hosted_checkout: false,
    wallets: true,
    transfer: false,
    bizum,
    paypal,
  });

describe("the ways to pay", () => {
  it.each([
    [true, true, "tarjeta, Bizum o PayPal"],
    [true, false, "tarjeta o Bizum"],
    [false, true, "tarjeta o PayPal"],
    [false, false, "tarjeta"],
  ])("are those that are switched on (%s, %s)", (bizum, paypal, words) => {
    expect(waysToPay(academy(bizum, paypal), "full_payment")).toBe(words);
    expect(waysToPay(academy(bizum, paypal), "installment")).toBe("tarjeta");
  });
});

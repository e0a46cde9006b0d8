import { describe, expect, test } from "vitest";
import { contactErrors, e164 } from "./contact";
import { contactOfWallet } from "./Wallets";

describe("contactOfWallet", () => {
  test.each([
    ["+34600123123", "+34600123123"],
    ["+34 600 12 31 23", "+34600123123"],
    ["0044 7911 123456", "+447911123456"],
    ["600 123 123", "+34600123123"],
  ])("reads the phone number %s", (phone, stored) => {
    const contact = contactOfWallet({ email: "ana@example.com", phone });

    expect(e164(contact)).toBe(stored);
    expect(contactErrors(contact)).toEqual({});
  });

  test("leaves what the wallet does not give for step 1", () => {
    expect(Object.keys(contactErrors(contactOfWallet({ email: "ana@example.com" })))).toEqual([
      "phone",
    ]);
    expect(Object.keys(contactErrors(contactOfWallet(undefined)))).toEqual(["email", "phone"]);
  });
});

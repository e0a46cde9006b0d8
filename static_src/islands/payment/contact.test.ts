import { describe, expect, it } from "vitest";
import cases from "../../../apps/orders/contact_cases.json";
import {
  type Contact,
  cleanPrefix,
  contactErrors,
  contactOf,
  EMPTY_CONTACT,
  e164,
  isValid,
  typedPhone,
} from "./contact";

const ANA: Contact = {
  email: "ana@example.com",
  prefix: "34",
  phone: "600123123",
  termsAccepted: true,
  privacyAccepted: true,
};

describe("the contact step", () => {
  it("starts empty, with the prefix of Spain and nothing accepted", () => {
    expect(EMPTY_CONTACT).toEqual({
      email: "",
      prefix: "34",
      phone: "",
      termsAccepted: false,
      privacyAccepted: false,
    });
  });

  it("has a Spanish message for every missing field", () => {
    expect(contactErrors({ ...EMPTY_CONTACT, prefix: "" })).toEqual({
      email: "Escribe tu email.",
      prefix: "Escribe el prefijo de tu país.",
      phone: "Escribe tu teléfono.",
      termsAccepted: "Debes aceptar los términos y condiciones.",
      privacyAccepted: "Debes aceptar la política de privacidad.",
    });
  });

  it("accepts complete contact data", () => {
    expect(contactErrors(ANA)).toEqual({});
    expect(isValid(ANA)).toBe(true);
  });

  it("accepts and refuses the same addresses and phones as the server", () => {
    const problem = (change: Partial<Contact>) => Object.keys(contactErrors({ ...ANA, ...change }));
    for (const email of cases.emails.accepted)
      expect([email, problem({ email })]).toEqual([email, []]);
    for (const email of cases.emails.refused)
      expect([email, problem({ email })]).toEqual([email, ["email"]]);
    for (const [prefix = "", phone = ""] of cases.phones.accepted)
      expect([prefix, phone, problem({ prefix, phone })]).toEqual([prefix, phone, []]);
    for (const [prefix = "", phone = ""] of cases.phones.refused)
      expect([prefix, phone, problem({ prefix, phone })]).not.toEqual([prefix, phone, []]);
  });

  it("requires a Spanish phone of at least 9 digits, not counting the prefix", () => {
    expect(contactErrors({ ...ANA, phone: "60012312" }).phone).toBe(
      "El teléfono debe tener al menos 9 dígitos.",
    );
    expect(contactErrors({ ...ANA, phone: "600123123" }).phone).toBeUndefined();
  });

  it("counts the whole number of another country, because some are shorter than 9 digits", () => {
    expect(contactErrors({ ...ANA, prefix: "376", phone: "123456" })).toEqual({});
    expect(contactErrors({ ...ANA, prefix: "376", phone: "12345" }).phone).toBe(
      "El teléfono, con su prefijo, debe tener al menos 9 dígitos.",
    );
  });

  it("requires the terms and the privacy policy to be accepted", () => {
    expect(isValid({ ...ANA, termsAccepted: false })).toBe(false);
    expect(isValid({ ...ANA, privacyAccepted: false })).toBe(false);
  });
});

describe("the phone fields", () => {
  it("keep digits only, and at most 3 digits of the prefix", () => {
    expect(cleanPrefix("+34")).toBe("34");
    expect(cleanPrefix("12345")).toBe("123");
    expect(cleanPrefix("abc")).toBe("");
    expect(typedPhone("600 12-31.23x", "34")).toEqual({ prefix: "34", phone: "600123123" });
  });

  it.each([
    ["+34 600 123 123", "34", "600123123"],
    ["0034600123123", "34", "600123123"],
    ["+351 912 345 678", "351", "912345678"],
    ["+44 7911 123456", "44", "7911123456"],
    ["346001231", "34", "346001231"],
    ["+", "34", "+"],
    ["+3", "34", "+3"],
    ["+35", "34", "+35"],
  ])("move the country prefix of %s to its own field", (text, prefix, phone) => {
    expect(typedPhone(text, "34")).toEqual({ prefix, phone });
  });

  it("do not accept a country prefix that is not complete, or too long", () => {
    expect(contactErrors({ ...ANA, prefix: "346", phone: "001231234" }).prefix).toBe(
      "Ese prefijo no existe. El de España es 34.",
    );
    expect(contactErrors({ ...ANA, phone: "+35" }).phone).toBe(
      "El teléfono debe tener al menos 9 dígitos.",
    );
  });

  it("are joined to a phone number in E.164 format", () => {
    expect(e164(ANA)).toBe("+34600123123");
  });

  it.each(["+34600123123", "+351912345678", "+447911123456", "+16505550100"])(
    "split a stored %s so that joining gives the same number",
    (phone) => {
      const contact = contactOf({ email: "ana@example.com", phone });
      expect(e164(contact)).toBe(phone);
      expect(isValid(contact)).toBe(true);
    },
  );

  it("stay empty for a student without a phone", () => {
    expect(contactOf({ email: "ana@example.com", phone: "" })).toEqual({ ...ANA, phone: "" });
  });
});

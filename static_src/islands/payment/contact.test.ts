import { describe, expect, it } from "vitest";
import {
  type Contact,
  cleanPhone,
  cleanPrefix,
  contactErrors,
  contactOf,
  EMPTY_CONTACT,
  e164,
  isValid,
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
      email: "Escribe tu correo electrónico.",
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

  it.each(["ana", "ana@", "ana@example", "a na@example.com", "@example.com"])(
    "refuses the e-mail address %s",
    (email) => {
      expect(contactErrors({ ...ANA, email }).email).toBe(
        "Este correo no parece válido. Revísalo.",
      );
    },
  );

  it("requires a phone of at least 9 digits, not counting the prefix", () => {
    expect(contactErrors({ ...ANA, phone: "60012312" }).phone).toBe(
      "El teléfono debe tener al menos 9 dígitos.",
    );
    expect(contactErrors({ ...ANA, phone: "600123123" }).phone).toBeUndefined();
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
    expect(cleanPhone("600 12-31.23x", "34")).toBe("600123123");
  });

  it("remove the country prefix from a pasted international number", () => {
    expect(cleanPhone("+34 600 123 123", "34")).toBe("600123123");
    expect(cleanPhone("0034600123123", "34")).toBe("600123123");
    expect(cleanPhone("346001231", "34")).toBe("346001231");
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

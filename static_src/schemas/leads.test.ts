import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { BudgetContact, SentBudget } from "./budget";
import { ContactMessage } from "./contact";
import { DiscountRequest } from "./discountRequest";
import { FreeSubjectRequest } from "./freeSubject";
import { PreviewContact } from "./previewContact";
import { SubjectRequest } from "./subjectRequest";

/** The first message of each field, in the order of the checks. */
function messages(schema: z.ZodMiniType, form: object): string[] {
  const parsed = z.safeParse(schema, form);
  const byField = new Map<string, string>();
  for (const { path, message } of parsed.error?.issues ?? []) {
    const field = String(path[0]);
    if (!byField.has(field)) byField.set(field, `${field}: ${message}`);
  }
  return [...byField.values()];
}

const contact = {
  name: "Ana",
  email: "ana@example.com",
  phone: "",
  message: "Hola",
  privacyAccepted: "on",
};

describe("the contact form", () => {
  it("checks name, email, message and privacy acceptance, in this order", () => {
    expect(messages(ContactMessage, { name: " ", email: "", phone: "", message: "" })).toEqual([
      "name: El nombre es obligatorio",
      "email: El email es obligatorio",
      "message: El mensaje es obligatorio",
      "privacyAccepted: Debes aceptar la política de privacidad",
    ]);
  });

  it("rejects malformed e-mail addresses and accepts a message without a phone", () => {
    for (const email of ["ana", "ana@casa", "a na@example.com", "@example.com"]) {
      expect(messages(ContactMessage, { ...contact, email })).toEqual([
        "email: Por favor, introduce un email válido",
      ]);
    }
    expect(z.parse(ContactMessage, contact)).toEqual({
      ...contact,
      privacyAccepted: true,
      website: "",
    });
  });
});

describe("length limits", () => {
  const long = "x".repeat(5001);

  it("have the server's messages, and texts of exactly the maximum length are accepted", () => {
    const form = { ...contact, name: long, phone: long, message: long };
    expect(messages(ContactMessage, form)).toEqual([
      "name: El nombre no puede tener más de 120 caracteres",
      "phone: El teléfono no puede tener más de 30 caracteres",
      "message: El mensaje no puede tener más de 5000 caracteres",
    ]);
    const most = {
      name: long.slice(0, 120),
      phone: "6".repeat(30),
      message: `\n${"x".repeat(4999)}`,
    };
    expect(messages(ContactMessage, { ...contact, ...most })).toEqual([]);
  });

  it("name the field in the dialogs too", () => {
    const form = { name: "Ana", email: "ana@example.com", phone: long };
    const rest = { university: long, career: long, subjectName: long };
    expect(messages(SubjectRequest, { ...form, ...rest })).toEqual([
      "phone: El teléfono no puede tener más de 30 caracteres",
      "university: La universidad no puede tener más de 160 caracteres",
      "career: La carrera no puede tener más de 160 caracteres",
      "subjectName: El nombre de asignatura no puede tener más de 160 caracteres",
    ]);
  });

  it("are 254 characters for an e-mail address and 30 for a phone", () => {
    const address = (characters: number) => `${"a".repeat(characters - 12)}@example.com`;
    expect(messages(ContactMessage, { ...contact, email: address(254) })).toEqual([]);
    expect(messages(ContactMessage, { ...contact, email: address(255) })).toEqual([
      "email: Por favor, introduce un email válido",
    ]);
    const budget = { email: "ana@example.com", phone: "1".repeat(31) };
    expect(messages(BudgetContact, budget)).toEqual([
      "phone: Por favor, introduce un teléfono válido",
    ]);
    expect(messages(BudgetContact, { ...budget, phone: "1".repeat(30) })).toEqual([]);
  });
});

describe("the budget's contact form", () => {
  const all = "Por favor, completa todos los campos";

  it("checks that both fields are filled in first", () => {
    expect(messages(BudgetContact, { email: "", phone: "" })).toEqual([
      `email: ${all}`,
      `phone: ${all}`,
    ]);
    expect(messages(BudgetContact, { email: "ana", phone: " " })).toEqual([`phone: ${all}`]);
  });

  it("then rejects malformed e-mail addresses and phones of less than 9 characters", () => {
    expect(messages(BudgetContact, { email: "ana", phone: "12345678" })).toEqual([
      "email: Por favor, introduce un email válido",
      "phone: Por favor, introduce un teléfono válido",
    ]);
    expect(messages(BudgetContact, { email: "ana@example.com", phone: " 12345678 " })).toEqual([
      "phone: Por favor, introduce un teléfono válido",
    ]);
    expect(messages(BudgetContact, { email: "ana@example.com", phone: "123456789" })).toEqual([]);
  });
});

it("checks the acceptance of the terms of a discount request first, then each field", () => {
  expect(messages(DiscountRequest, { phone: "", email: "", career: "" })).toEqual([
    "acceptTerms: Debes aceptar los términos y condiciones para continuar.",
    "phone: El teléfono es obligatorio",
    "email: El email es obligatorio",
    "career: La carrera es obligatoria",
  ]);
});

it("requires all six fields of a subject request", () => {
  const empty = { name: "", email: "", phone: "", university: "", career: "", subjectName: "" };
  expect(messages(SubjectRequest, empty)).toEqual([
    "name: El nombre es obligatorio",
    "email: El email es obligatorio",
    "phone: El teléfono es obligatorio",
    "university: La universidad es obligatoria",
    "career: La carrera es obligatoria",
    "subjectName: El nombre de asignatura es obligatorio",
  ]);
  expect(messages(SubjectRequest, { ...empty, email: "ana" })).toContain("email: Email inválido");
});

it("accepts a free-subject request with accepted terms", () => {
  const request = { email: "ana@example.com", phone: "1", career: "ADE", acceptTerms: "on" };
  expect(z.parse(FreeSubjectRequest, request)).toEqual({
    ...request,
    acceptTerms: true,
    website: "",
  });
});

describe("the preview's attachment", () => {
  const form = (file: File) => ({
    email: "ana@example.com",
    attachment: file,
    acceptTerms: "on",
  });
  const file = (name: string, bytes: number) => new File([new Uint8Array(bytes)], name);
  const most = 10 * 1024 * 1024;

  it("may have the listed file types in upper or lower case, and up to 10 MB", () => {
    for (const name of ["a.pdf", "a.doc", "a.docx", "a.txt", "a.jpg", "a.JPEG", "a.png"]) {
      expect(messages(PreviewContact, form(file(name, 1)))).toEqual([]);
    }
    expect(messages(PreviewContact, form(file("a.pdf", most)))).toEqual([]);
  });

  it.each([
    ["", 0, "El archivo es obligatorio"],
    ["a.exe", 1, "Solo se admiten archivos PDF, DOC, DOCX, TXT, JPG, JPEG o PNG"],
    ["pdf", 1, "Solo se admiten archivos PDF, DOC, DOCX, TXT, JPG, JPEG o PNG"],
    ["a.pdf", most + 1, "El archivo no puede superar los 10 MB"],
  ])("is rejected with a message: %j of %d bytes", (name, bytes, sentence) => {
    expect(messages(PreviewContact, form(file(name, bytes)))).toEqual([`attachment: ${sentence}`]);
  });
});

it("parses the server's budget in cents, and a response without a budget", () => {
  const budgetResult = {
    selectedSubjects: [{ id: 7, name: "Microeconomía", final_price: 400 }],
    basePrice: 400,
    discounts: [{ name: "Descuento por volumen", amount: 15 }],
    finalPrice: 385.5,
  };
  expect(z.parse(SentBudget, { success: true, budgetResult })).toEqual({
    subjects: [{ id: 7, name: "Microeconomía", priceCents: 40000 }],
    baseCents: 40000,
    discounts: [{ name: "Descuento por volumen", amountCents: 1500 }],
    finalCents: 38550,
  });
  expect(z.parse(SentBudget, { success: true })).toBeNull();
});

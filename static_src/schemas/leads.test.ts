import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { BudgetContact, ContactMessage, FreeSubjectRequest, SentBudget } from "./leads";
import { DiscountRequest, PreviewContact, SubjectRequest } from "./requests";

/** The messages of a form in the order in which they are said, each with its field. */
function complaints(schema: z.ZodMiniType, form: object): string[] {
  const parsed = z.safeParse(schema, form);
  const said = new Map<string, string>();
  for (const { path, message } of parsed.error?.issues ?? []) {
    const field = String(path[0]);
    if (!said.has(field)) said.set(field, `${field}: ${message}`);
  }
  return [...said.values()];
}

const contact = {
  name: "Ana",
  email: "ana@example.com",
  phone: "",
  message: "Hola",
  privacyAccepted: "on",
};

describe("the contact form", () => {
  it("says what is missing in the order of the specification", () => {
    expect(complaints(ContactMessage, { name: " ", email: "", phone: "", message: "" })).toEqual([
      "name: El nombre es obligatorio",
      "email: El email es obligatorio",
      "message: El mensaje es obligatorio",
      "privacyAccepted: Debes aceptar la política de privacidad",
    ]);
  });

  it("refuses what is no address, and takes a message without a phone", () => {
    for (const email of ["ana", "ana@casa", "a na@example.com", "@example.com"]) {
      expect(complaints(ContactMessage, { ...contact, email })).toEqual([
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

describe("what is too long", () => {
  const long = "x".repeat(5001);

  it("is said in the server's words, and what is just as long as it may be is taken", () => {
    const form = { ...contact, name: long, phone: long, message: long };
    expect(complaints(ContactMessage, form)).toEqual([
      "name: El nombre no puede tener más de 120 caracteres",
      "phone: El teléfono no puede tener más de 30 caracteres",
      "message: El mensaje no puede tener más de 5000 caracteres",
    ]);
    const most = {
      name: long.slice(0, 120),
      phone: "6".repeat(30),
      message: `\n${"x".repeat(4999)}`,
    };
    expect(complaints(ContactMessage, { ...contact, ...most })).toEqual([]);
  });

  it("names the field in the dialogs too", () => {
    const form = { name: "Ana", email: "ana@example.com", phone: long };
    const rest = { university: long, career: long, subjectName: long };
    expect(complaints(SubjectRequest, { ...form, ...rest })).toEqual([
      "phone: El teléfono no puede tener más de 30 caracteres",
      "university: La universidad no puede tener más de 160 caracteres",
      "career: La carrera no puede tener más de 160 caracteres",
      "subjectName: El nombre de asignatura no puede tener más de 160 caracteres",
    ]);
  });

  it("is no address beyond 254 characters, and no phone beyond 30", () => {
    const address = (characters: number) => `${"a".repeat(characters - 12)}@example.com`;
    expect(complaints(ContactMessage, { ...contact, email: address(254) })).toEqual([]);
    expect(complaints(ContactMessage, { ...contact, email: address(255) })).toEqual([
      "email: Por favor, introduce un email válido",
    ]);
    const budget = { email: "ana@example.com", phone: "1".repeat(31) };
    expect(complaints(BudgetContact, budget)).toEqual([
      "phone: Por favor, introduce un teléfono válido",
    ]);
    expect(complaints(BudgetContact, { ...budget, phone: "1".repeat(30) })).toEqual([]);
  });
});

describe("the budget's contact", () => {
  const all = "Por favor, completa todos los campos";

  it("asks for both fields before it looks at either", () => {
    expect(complaints(BudgetContact, { email: "", phone: "" })).toEqual([
      `email: ${all}`,
      `phone: ${all}`,
    ]);
    expect(complaints(BudgetContact, { email: "ana", phone: " " })).toEqual([`phone: ${all}`]);
  });

  it("then refuses what is no address or too short", () => {
    expect(complaints(BudgetContact, { email: "ana", phone: "12345678" })).toEqual([
      "email: Por favor, introduce un email válido",
      "phone: Por favor, introduce un teléfono válido",
    ]);
    expect(complaints(BudgetContact, { email: "ana@example.com", phone: " 12345678 " })).toEqual([
      "phone: Por favor, introduce un teléfono válido",
    ]);
    expect(complaints(BudgetContact, { email: "ana@example.com", phone: "123456789" })).toEqual([]);
  });
});

it("asks a discount request for the terms first, then for each field", () => {
  expect(complaints(DiscountRequest, { phone: "", email: "", career: "" })).toEqual([
    "acceptTerms: Debes aceptar los términos y condiciones para continuar.",
    "phone: El teléfono es obligatorio",
    "email: El email es obligatorio",
    "career: La carrera es obligatoria",
  ]);
});

it("asks a subject request for all six fields", () => {
  const empty = { name: "", email: "", phone: "", university: "", career: "", subjectName: "" };
  expect(complaints(SubjectRequest, empty)).toEqual([
    "name: El nombre es obligatorio",
    "email: El email es obligatorio",
    "phone: El teléfono es obligatorio",
    "university: La universidad es obligatoria",
    "career: La carrera es obligatoria",
    "subjectName: El nombre de asignatura es obligatorio",
  ]);
  expect(complaints(SubjectRequest, { ...empty, email: "ana" })).toContain("email: Email inválido");
});

it("takes a free-subject request with the terms accepted", () => {
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

  it("has a type of the list, whatever its case, and at most 10 MB", () => {
    for (const name of ["a.pdf", "a.doc", "a.docx", "a.txt", "a.jpg", "a.JPEG", "a.png"]) {
      expect(complaints(PreviewContact, form(file(name, 1)))).toEqual([]);
    }
    expect(complaints(PreviewContact, form(file("a.pdf", most)))).toEqual([]);
  });

  it.each([
    ["", 0, "El archivo es obligatorio"],
    ["a.exe", 1, "Solo se admiten archivos PDF, DOC, DOCX, TXT, JPG, JPEG o PNG"],
    ["pdf", 1, "Solo se admiten archivos PDF, DOC, DOCX, TXT, JPG, JPEG o PNG"],
    ["a.pdf", most + 1, "El archivo no puede superar los 10 MB"],
  ])("is refused with a reason: %j of %d bytes", (name, bytes, sentence) => {
    expect(complaints(PreviewContact, form(file(name, bytes)))).toEqual([
      `attachment: ${sentence}`,
    ]);
  });
});

it("reads the server's budget as cents, and knows an answer without one", () => {
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

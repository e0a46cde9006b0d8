import { expect, it } from "vitest";
import { suggestEmail } from "./emailTypos";

it.each([
  ["ana@gmial.con", "ana@gmail.com"],
  ["ana@gmial.com", "ana@gmail.com"],
  ["Ana@GMAI.COM", "Ana@gmail.com"],
  ["ana@gmaill.com", "ana@gmail.com"],
  ["ana@gnail.com", "ana@gmail.com"],
  ["ana@gmail.es", "ana@gmail.com"],
  ["ana@gmail.co", "ana@gmail.com"],
  ["ana@gmail.comm", "ana@gmail.com"],
  ["ana@hotmial.com", "ana@hotmail.com"],
  ["ana@hotmai.es", "ana@hotmail.es"],
  ["ana@hormail.con", "ana@hotmail.com"],
  ["ana@outlok.es", "ana@outlook.es"],
  ["ana@yaho.es", "ana@yahoo.es"],
  ["ana@iclud.com", "ana@icloud.com"],
  ["ana@empresa.con", "ana@empresa.com"],
])("of %s the address %s was probably meant", (typed, meant) => {
  expect(suggestEmail(typed)).toBe(meant);
});

it.each([
  "ana@gmail.com",
  "ana@hotmail.es",
  "ana@hotmail.fr",
  "ana@hotmail.co.uk",
  "ana@yahoo.com.mx",
  "ana@mail.com",
  "ana@ymail.com",
  "ana@gmx.es",
  "ana@uoc.edu",
  "ana@alumno.uned.es",
  "ana@live.nl",
  "ana@example.com",
  "ana@empresa.co",
  "ana",
  "ana@",
  "@gmial.com",
  "ana@gmial",
])("nothing is suggested for %s", (typed) => {
  expect(suggestEmail(typed)).toBeNull();
});

import { afterEach, expect, it, vi } from "vitest";
import { QUOTE_CONTACT } from "../../lib/page/sessionStorage";
import { contactOfQuote } from "./quoteContact";

const PATH = "/compra?presupuesto=7.abc";

function keep(contact: { email: string; phone: string }) {
  const kept = JSON.stringify({ path: PATH, ...contact });
  vi.stubGlobal("window", {
    sessionStorage: { getItem: (key: string) => (key === QUOTE_CONTACT ? kept : null) },
  });
}

afterEach(() => vi.unstubAllGlobals());

it("fills address, prefix and phone on the page of the quote's link only", () => {
  const page = { pathname: "/compra", search: "?presupuesto=7.abc" };
  keep({ email: "ana@example.com", phone: "600 123 123" });
  expect(contactOfQuote(page)).toEqual({
    email: "ana@example.com",
    prefix: "34",
    phone: "600123123",
    termsAccepted: false,
    privacyAccepted: false,
  });
  expect(contactOfQuote({ pathname: "/compra", search: "" })).toBeNull();
  keep({ email: "ana@example.com", phone: "+34 600 123 123" });
  expect(contactOfQuote(page)).toMatchObject({ prefix: "34", phone: "600123123" });
});

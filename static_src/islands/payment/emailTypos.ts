/**
 * Asks about likely typing errors in an e-mail address: "gmial.con" is probably "gmail.com". The
 * visitor decides; an unusual address is never refused. A list of our own instead of a package: the
 * providers of our visitors are few, and each new suggestion must not question somebody's right
 * address.
 */

// Providers with their right endings, the most frequent one first.
const PROVIDERS: Record<string, string[]> = {
  gmail: ["com"],
  hotmail: ["com", "es"],
  outlook: ["com", "es"],
  yahoo: ["es", "com"],
  icloud: ["com"],
  live: ["com"],
  telefonica: ["net"],
  uned: ["es"],
};
// Real providers whose names look like mistyped ones.
const OTHERS = ["mail", "ymail", "email", "gmx", "hotmal", "line", "uoc", "unir", "udima"];
const ENDINGS: Record<string, string> = {
  con: "com",
  cm: "com",
  om: "com",
  cmo: "com",
  ocm: "com",
  comm: "com",
  coom: "com",
  cim: "com",
  vom: "com",
  xom: "com",
  ess: "es",
  ed: "es",
};
// Shorter names would be confused with each other.
const SHORTEST_NAME = 5;

/** The address that was probably meant, or null. */
export function suggestEmail(typed: string): string | null {
  const email = typed.trim();
  const at = email.lastIndexOf("@");
  const [local, domain] = [email.slice(0, at), email.slice(at + 1).toLowerCase()];
  const dot = domain.indexOf(".");
  if (at < 1 || dot < 1) return null;
  const meant = meantDomain(domain.slice(0, dot), domain.slice(dot + 1));
  return meant === domain ? null : `${local}@${meant}`;
}

function meantDomain(name: string, ending: string): string {
  const provider = PROVIDERS[name] ? name : similarProvider(name);
  const meantEnding = ENDINGS[ending] ?? ending;
  const endings = PROVIDERS[provider];
  if (!endings) return `${name}.${meantEnding}`;
  // A provider with one address has no other; the rest have addresses in many countries.
  const onlyEnding = endings.length === 1 && provider !== "live" ? endings[0] : null;
  return `${provider}.${onlyEnding ?? meantEnding}`;
}

function similarProvider(name: string): string {
  if (OTHERS.includes(name)) return name;
  return (
    Object.keys(PROVIDERS).find(
      (provider) => provider.length >= SHORTEST_NAME && isOneSlipAway(name, provider),
    ) ?? name
  );
}

/** Whether one letter is missing, added, wrong or doubled, or two neighbours are exchanged. */
function isOneSlipAway(typed: string, meant: string): boolean {
  let start = 0;
  while (start < typed.length && typed[start] === meant[start]) start++;
  let end = 0;
  const shorter = Math.min(typed.length, meant.length) - start;
  while (end < shorter && typed.at(-1 - end) === meant.at(-1 - end)) end++;
  const wrong = typed.slice(start, typed.length - end);
  const right = meant.slice(start, meant.length - end);
  if (wrong.length <= 1 && right.length <= 1) return true;
  return wrong.length === 2 && wrong === [...right].reverse().join("");
}

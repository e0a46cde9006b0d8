/** What may be said of the VAT beside a price: the server knows how the subjects are taxed. */
export const vatNote = (): string =>
  document.querySelector<HTMLMetaElement>("meta[name=vat-note]")?.content || "impuestos incluidos";

/** The same at the beginning of a sentence. */
export const vatSentence = (): string => {
  const note = vatNote();
  return note.charAt(0).toUpperCase() + note.slice(1);
};

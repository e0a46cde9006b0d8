/** Dates in Spanish, in the shop's time zone. */

const day = new Intl.DateTimeFormat("es-ES", { dateStyle: "long", timeZone: "Europe/Madrid" });

/** For example "5 de diciembre de 2026". */
export const formatDay = (date: Date): string => day.format(date);

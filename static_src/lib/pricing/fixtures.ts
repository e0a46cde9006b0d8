/** Test data of prices: a subject of 200 € with two lessons of 40 €. */
import type { CatalogueSubject } from "../../schemas/catalogue";
import type { Pricing } from "../../schemas/pricing";

export const PRICING: Pricing = {
  unitBasePriceCents: 24_000,
  volume: [
    [2, 1500],
    [3, 4500],
  ],
  fullPaymentPercent: 5,
  friendCodeCents: 1500,
  perFriendCents: 2000,
  friendsMax: 8,
  instalments: { count: 3, everyDays: 20, minimumTotalCents: 3000 },
  campaign: null,
  degreeCampaigns: [],
};

export function subject(id: number, priceCents = 20_000): CatalogueSubject {
  const lesson = (lessonId: number) => ({
    id: lessonId,
    title: `PEC ${lessonId}`,
    subjectId: id,
    priceCents: 4000,
    active: true,
  });
  return {
    id,
    name: `Asignatura ${id}`,
    finalPriceCents: priceCents,
    totalDiscounts: 0,
    lowestCents: undefined,
    contents: "2 PECs",
    completeOnly: false,
    enrolledStudents: 0,
    degree: { id: 1, name: "Economía", university: { id: 1, acronym: "UA" } },
    lessons: [lesson(id * 10 + 1), lesson(id * 10 + 2)],
  };
}

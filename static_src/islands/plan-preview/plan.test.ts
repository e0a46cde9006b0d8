import { expect, it } from "vitest";
import type { PreviewItem } from "../../schemas/pages";
import {
  type ContentKey,
  change,
  describe as describeContent,
  firstPreview,
  isAccessible,
  isUnlocked,
  planOf,
  preview,
} from "./plan";

const IDS = [1, 2, 3, 4, 5, 6];
const pec: PreviewItem = {
  id: 2,
  name: "PEC 2",
  topic: "Elasticidad",
  status: "Pendiente de pago",
  due: "Entrega: 21 de octubre",
  resolution: { id: 0, title: "Vídeo de resolución", duration: "35:00" },
  solved: { id: 0, title: "PEC 2 resuelta", pages: 14 },
  videos: [{ id: 1, title: "Elasticidad renta", duration: "14:10" }],
  documents: [{ id: 1, title: "Apuntes", pages: 30 }],
  testQuestions: 50,
};

it("gives access to PEC 1 only with the individual plan, and preselects it", () => {
  expect(IDS.filter((id) => isAccessible("individual", id))).toEqual([1]);
  expect(preview("individual")).toEqual({ plan: "individual", itemId: 1, content: null });
});

it("opens the sample at first if the preselected item has it", () => {
  expect(firstPreview("individual", 1).content).toBe("solved");
  expect(firstPreview("full", 1).content).toBeNull();
  expect(firstPreview("individual", undefined).content).toBeNull();
});

it("gives access to all six items with the full plan, and preselects PEC 2", () => {
  expect(IDS.filter((id) => isAccessible("full", id))).toEqual(IDS);
  expect(preview("full")).toEqual({ plan: "full", itemId: 2, content: null });
});

it("toggles the pressed item and clears the chosen content", () => {
  const reading = change(preview("full"), { type: "content_pressed", content: "video-3" });
  expect(reading.content).toBe("video-3");
  expect(change(reading, { type: "item_pressed", itemId: 4 })).toEqual({
    plan: "full",
    itemId: 4,
    content: null,
  });
  expect(change(reading, { type: "item_pressed", itemId: 2 })).toEqual({
    plan: "full",
    itemId: null,
    content: null,
  });
});

it("ignores presses on locked items and locked contents", () => {
  const state = preview("individual");
  expect(change(state, { type: "item_pressed", itemId: 6 })).toBe(state);
  expect(change(state, { type: "content_pressed", content: "video-1" })).toBe(state);
  expect(change(state, { type: "content_pressed", content: "test" })).toBe(state);
});

it("always unlocks the resolution video and the solved PEC, and the rest with the full plan only", () => {
  const contents: ContentKey[] = ["resolution", "solved", "video-1", "document-1", "test"];
  const open = (plan: "individual" | "full") => contents.filter((key) => isUnlocked(plan, key));
  expect(open("individual")).toEqual(["resolution", "solved"]);
  expect(open("full")).toEqual(contents);
});

it("reads the plan from the fragment of a link", () => {
  expect(planOf("#plan-individual")).toBe("individual");
  expect(planOf("#plan-completo")).toBe("full");
  expect(planOf("#contacto")).toBeNull();
});

it("resets when the other plan is chosen", () => {
  const state = change(preview("full"), { type: "item_pressed", itemId: 5 });
  expect(change(state, { type: "plan_chosen", plan: "full" })).toBe(state);
  expect(change(state, { type: "plan_chosen", plan: "individual" })).toEqual(preview("individual"));
});

it("describes each content with its title and size", () => {
  expect(describeContent(pec, "resolution").size).toBe("35:00");
  expect(describeContent(pec, "solved")).toEqual({ title: "PEC 2 resuelta", size: "14 páginas" });
  expect(describeContent(pec, "video-1").title).toBe("Elasticidad renta");
  expect(describeContent(pec, "document-1").size).toBe("30 páginas");
  expect(describeContent(pec, "test").size).toBe("50 preguntas");
  expect(() => describeContent(pec, "video-9")).toThrow("PEC 2 has no video-9");
});

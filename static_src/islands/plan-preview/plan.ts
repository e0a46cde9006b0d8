/** What each plan includes in the preview, and the preview's state as a reducer without React. */
import type { PreviewItem } from "../../schemas/pages";

export type Plan = "individual" | "full";

/** A content of an item, for example "resolution", "solved", "video-3", "document-1" or "test". */
export type ContentKey =
  | "resolution"
  | "solved"
  | "test"
  | `video-${number}`
  | `document-${number}`;

type Preview = { plan: Plan; itemId: number | null; content: ContentKey | null };

type PreviewEvent =
  | { type: "plan_chosen"; plan: Plan }
  | { type: "item_pressed"; itemId: number }
  | { type: "content_pressed"; content: ContentKey };

/** The plan that a link's fragment names: /servicios#plan-completo. Null for other fragments. */
export function planOf(hash: string): Plan | null {
  const found = Object.entries(FRAGMENTS).find(([, fragment]) => `#${fragment}` === hash);
  return found ? (found[0] as Plan) : null;
}

/** The id of each plan's tab. The header's menu links to them. */
export const FRAGMENTS: Record<Plan, string> = {
  individual: "plan-individual",
  full: "plan-completo",
};

const PRESELECTED: Record<Plan, number> = { individual: 1, full: 2 };

export function preview(plan: Plan): Preview {
  return { plan, itemId: PRESELECTED[plan], content: null };
}

/** The preview when the page opens: of the item with the sample its solved PEC is open. */
export function firstPreview(plan: Plan, sampleItemId: number | undefined): Preview {
  const first = preview(plan);
  return first.itemId === sampleItemId ? { ...first, content: "solved" } : first;
}

/** The individual plan includes PEC 1 only, the full plan all six items. */
export function isAccessible(plan: Plan, itemId: number): boolean {
  return plan === "full" || itemId === PRESELECTED.individual;
}

/**
 * Both plans include the resolution video and the solved PEC. The full plan includes everything.
 */
export function isUnlocked(plan: Plan, content: ContentKey): boolean {
  return plan === "full" || content === "resolution" || content === "solved";
}

export function change(state: Preview, event: PreviewEvent): Preview {
  switch (event.type) {
    case "plan_chosen":
      return event.plan === state.plan ? state : preview(event.plan);
    case "item_pressed":
      if (!isAccessible(state.plan, event.itemId)) return state;
      return {
        ...state,
        itemId: event.itemId === state.itemId ? null : event.itemId,
        content: null,
      };
    case "content_pressed":
      if (!isUnlocked(state.plan, event.content)) return state;
      return { ...state, content: event.content === state.content ? null : event.content };
  }
}

/** The title and the size (duration, pages or questions) of a content. */
export function describe(item: PreviewItem, content: ContentKey): { title: string; size: string } {
  const [kind, number] = content.split("-");
  const numbered = ({ id }: { id: number }) => id === Number(number);
  if (kind === "test") return { title: "Test de teoría", size: `${item.testQuestions} preguntas` };
  const video = kind === "resolution" ? item.resolution : item.videos.find(numbered);
  if ((kind === "resolution" || kind === "video") && video) {
    return { title: video.title, size: video.duration };
  }
  const document = kind === "solved" ? item.solved : item.documents.find(numbered);
  if (!document) throw new RangeError(`${item.name} has no ${content}`);
  return { title: document.title, size: `${document.pages} páginas` };
}

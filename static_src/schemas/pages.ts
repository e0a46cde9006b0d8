/** Props that the views of `apps/pages` pass to their islands. */
import * as z from "zod/mini";

const Video = z.object({ id: z.number(), title: z.string(), duration: z.string() });

const Document = z.object({ id: z.number(), title: z.string(), pages: z.number() });

/** An item of the plan preview: PEC 1 to PEC 5, or EXAMEN, which has no resolution and no test. */
export const PreviewItem = z.pipe(
  z.object({
    id: z.number(),
    name: z.string(),
    topic: z.string(),
    due: z.string(),
    status: z.string(),
    resolution: z.nullable(Video),
    solved: z.nullable(Document),
    videos: z.array(Video),
    documents: z.array(Document),
    test_questions: z.nullable(z.number()),
  }),
  z.transform(({ test_questions, ...rest }) => ({ ...rest, testQuestions: test_questions })),
);
export type PreviewItem = z.output<typeof PreviewItem>;

/** What opens in the plan preview: the first page and the test questions of a lesson. */
export const PreviewSample = z.pipe(
  z.object({
    item_id: z.number(),
    name: z.string(),
    paragraphs: z.array(z.string()),
    questions: z.array(
      z.object({
        text: z.string(),
        answers: z.array(z.string()),
        right_answer: z.string(),
        why: z.string(),
      }),
    ),
  }),
  z.transform(({ item_id, ...rest }) => ({ ...rest, itemId: item_id })),
);
export type PreviewSample = z.output<typeof PreviewSample>;

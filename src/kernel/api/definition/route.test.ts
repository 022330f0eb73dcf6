/** The types of answers follow the schemas: `npm run types` fails where one of these compiles. */
import { describe, expectTypeOf, it } from "vitest";
import type { Handler } from "../../http/server/route.ts";
import type { CREATE_KEY, Key } from "../keys.ts";
import { type AnswerOf, route } from "./route.ts";
import type { Static } from "./schema.ts";
import type { LIST_WORKERS } from "../workers.ts";

const KEY = {
	id: "1",
	name: "nightly batch",
	scopes: ["write" as const],
	createdAt: "2026-01-31T12:00:00.000Z",
};

describe("answers of handlers", () => {
	it("must have every required member, and may leave optional ones undefined", () => {
		expectTypeOf({ ...KEY, key: "sluice_1", lastUsedAt: undefined }).toExtend<AnswerOf<typeof CREATE_KEY>>();
		expectTypeOf(KEY).not.toExtend<AnswerOf<typeof CREATE_KEY>>();
	});

	it("must have the types of the schema, its words included", () => {
		expectTypeOf({ ...KEY, key: 1 }).not.toExtend<AnswerOf<typeof CREATE_KEY>>();
		expectTypeOf({ ...KEY, scopes: ["owner"], key: "" }).not.toExtend<AnswerOf<typeof CREATE_KEY>>();
		expectTypeOf<AnswerOf<typeof LIST_WORKERS>["workers"][number]["state"]>().toEqualTypeOf<
			"initializing" | "idle" | "running" | "asleep" | "unhealthy" | "stopping"
		>();
		expectTypeOf<Static<{ enum: readonly [60_000, 3_600_000] }>>().toEqualTypeOf<60_000 | 3_600_000>();
	});

	it("have no value where an answer is not JSON", () => {
		const text = route("text", "GET /text", "anyone", {
			summary: "A text.",
			answer: { description: "The text.", media: "text/plain" },
		});
		expectTypeOf<AnswerOf<typeof text>>().toBeNever();
	});

	it("are checked against the definition that a handler is registered for", () => {
		expectTypeOf<() => Promise<{ keys: Key[] }>>().not.toExtend<Handler<typeof CREATE_KEY>>();
	});
});

/** The rules on background responses: each planted bug is found, and what may happen is none (D58). */
import { describe, expect, it } from "vitest";
import type { ResponseEvent, Seen, SeenResponse } from "../history.ts";
import { begun, chunk, ENDED, FAILED, type history, rulesOf } from "./made-history.ts";
import { DELTA } from "./response-rules.ts";

type Made = ReturnType<typeof history>;

const QUEUED: SeenResponse = { status: "queued", text: "q" };
const DONE: SeenResponse = { status: "completed", text: "d" };
const BROKE: SeenResponse = { status: "failed", text: "f" };

const poll = (made: Made, seen: SeenResponse | undefined, more: object = {}): Made =>
	made.add("response-read", { how: "get", ...(seen ? { seen } : { missing: true as const }), ...more });

const FIRST: readonly ResponseEvent[] = [
	[0, "response.created", "c"],
	[1, "response.queued", "q"],
];
const TEXTS: readonly ResponseEvent[] = [
	[2, DELTA, "a"],
	[3, DELTA, "b"],
];
const LAST: readonly ResponseEvent[] = [[4, "response.completed", "e"]];
const ALL = [...FIRST, ...TEXTS, ...LAST];

const events = (made: Made, all: readonly ResponseEvent[], more: object = {}): Made =>
	made.add("response-events", { after: -1, events: [...all], ...more });
const whole = (made: Made, all: readonly ResponseEvent[] = ALL, seen = DONE): Made => events(made, all, { seen });

/** A stream of two texts, and its end. */
const ran = (texts: readonly string[] = ["a", "b"], seen: Seen = ENDED): Made => {
	let made = begun();
	for (const text of texts) made = made.add("chunk", chunk(text));
	return made.add("chunk", chunk("x:end")).report().read(seen);
};

/** The first run is lost after a text; the events of the second begin with `queued`. */
const lost = (): Made =>
	begun()
		.add("chunk", chunk("z"))
		.add("drop", { by: "w1", why: "crash" })
		.take({ by: "w2", at: 30_000, jobs: [{ id: "j", n: 1, input: "i", take: 2 }] })
		.add("chunk", { by: "w2", take: 2, text: "a" })
		.add("chunk", { by: "w2", take: 2, text: "x:end" })
		.report({ by: "w2" })
		.read(ENDED);
const AGAIN: readonly ResponseEvent[] = [
	...FIRST,
	[100_000, "response.queued", "q"],
	[100_001, DELTA, "a"],
	[100_002, "response.completed", "e"],
];

describe("the checker finds", () => {
	it.each<[string, string, Made]>([
		["acknowledged-exists", "a response that is missing", poll(ran(), undefined)],
		["acknowledged-exists", "events that are missing", events(ran(), [], { missing: true })],
		["response-kept", "a response that changes after its end", poll(poll(ran(), DONE), { ...DONE, text: "other" })],
		["response-kept", "a last event that is not what polls show", whole(poll(ran(), { ...DONE, text: "other" }))],
		["response-kept", "one that waits and changes", poll(poll(ran(), QUEUED), { ...QUEUED, text: "other" })],
		["response-ends", "a response that ends twice", poll(poll(ran(), DONE), BROKE)],
		["response-ends", "one that runs after its end", poll(poll(ran(), DONE), QUEUED)],
		["response-ends", "one that ended otherwise than its job", poll(ran(), { ...DONE, status: "cancelled" })],
		[
			"response-ends",
			"one that completed although its job failed",
			poll(begun().report({ kind: "fail", text: "no" }).read(FAILED), DONE),
		],
		["response-events", "numbers that go back", events(ran(), [...ALL.slice(0, 3), ALL[1]!])],
		["response-events", "events that were read already", whole(events(ran(), TEXTS, { after: 3 }))],
		["response-events", "a number with two events", whole(events(ran(), [...FIRST, [2, DELTA, "b"]]))],
		[
			"response-events",
			"a number of a lost run that is used again",
			whole(events(lost(), [...FIRST, [100_000, DELTA, "z"]]), AGAIN),
		],
		["response-events", "a reader that misses one", whole(whole(ran()), [...FIRST, ...TEXTS.slice(1), ...LAST])],
		["response-events", "a resumed reader that misses one", events(whole(ran()), LAST, { after: 2, seen: DONE })],
		["response-events", "an event that is missing later", whole(events(ran(), [...ALL.slice(0, 4), [5, DELTA, "c"]]))],
		["response-deltas", "a text that is lost", whole(ran(), [...FIRST, TEXTS[0]!, ...LAST])],
		[
			"response-deltas",
			"a text that is there twice",
			whole(ran(), [...FIRST, ...TEXTS, [4, DELTA, "a"], [5, "response.completed", "e"]]),
		],
		["response-deltas", "texts in another order", whole(ran(["b", "a"]))],
		[
			"response-deltas",
			"a text of a lost run",
			whole(
				lost(),
				AGAIN.map(([n, type, text]) => [n, type, type === DELTA ? "z" : text]),
			),
		],
	])("%s: %s", (rule, _, made) => {
		expect(rulesOf(made.close())).toContain(rule);
	});
});

it.each<[string, Made]>([
	[
		"polls, a reader and its resumption",
		events(poll(whole(events(poll(ran(), QUEUED, { at: 5 }), ALL.slice(0, 3))), DONE), ALL.slice(3), {
			after: 2,
			seen: DONE,
		}),
	],
	["a reader that left before its end", whole(events(ran(), ALL.slice(0, 2)))],
	[
		"a reader that saw the events of a lost run",
		whole(events(lost(), [...FIRST, [2, DELTA, "z"], ...AGAIN.slice(2)], { seen: DONE }), AGAIN),
	],
	[
		"a post without an answer whose text is missing",
		whole(
			begun()
				.add("chunk", chunk("a"))
				.add("chunk", { ...chunk("c"), result: "unknown" })
				.add("chunk", chunk("b"))
				.report()
				.read(ENDED),
		),
	],
	[
		"a failed job",
		whole(begun().report({ kind: "fail", text: "no" }).read(FAILED), [...FIRST, [2, "response.failed", "e"]], BROKE),
	],
])("and nothing wrong with %s", (_, made) => {
	expect(rulesOf(made.close())).toEqual([]);
});

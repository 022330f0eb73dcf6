/** What jobs are called, how their failures are grouped, and when what happened. */
import { describe, expect, it, vi } from "vitest";
import { tokensOf } from "../code-tokens.ts";
import { groupsOf, normalized } from "../error-groups.ts";
import { asJson, asPython, exampleOf, inGo, inShell } from "../example-input.ts";
import { filterOf, isFiltered } from "./job-filter.ts";
import { readBeginning, titleOf } from "./job-title.ts";
import type { Delivery, JobSummary } from "../../client/shapes.ts";
import { partsOf } from "../stack-trace.ts";
import { textIn } from "../../../../src/kernel/lib/stream-text.ts";
import { viewsOf } from "../views.ts";
import { lanesOf } from "../waterfall.ts";

// Where the page is: its modules ask for it while they load.
vi.hoisted(() => vi.stubGlobal("location", new URL("http://127.0.0.1/console/")));

const CHAT = [
	{ role: "system", content: "Be brief." },
	{ role: "user", content: "Which port?" },
	{ role: "assistant", content: "Kiel." },
	{ role: "user", content: [{ type: "text", text: "And\nwhich pier?" }] },
];

describe("titles", () => {
	it.each([
		["a prompt before other texts", { model: "large model", prompt: "A harbour" }, "A harbour"],
		["the name of a file", { audio: "s3://media/meeting 1.m4a".replace(" ", "-") }, "meeting-1.m4a"],
		[
			"what the user wrote last",
			{ openai_route: "/v1/chat/completions", openai_input: { messages: CHAT } },
			"And which pier?",
		],
		["any sentence", { fail: "no such harbour" }, "no such harbour"],
	])("%s", (_, input, title) => {
		expect(titleOf(input).title).toBe(title);
		expect(titleOf(JSON.stringify(input)).title).toBe(title);
	});

	it("other members are pairs; ids, base64 and words without a name are no titles", () => {
		const picture = `/9j/${"A".repeat(400)}`;
		expect(titleOf({ prompt: "hi", steps: 4, sizes: [64, 160], nothing: {}, image: picture })).toEqual({
			title: "hi",
			pairs: [
				["steps", "4"],
				["sizes", "[64, 160]"],
			],
		});
		expect(titleOf({ image: picture, format: "webp" })).toEqual({
			media: { kind: "image", type: "image/jpeg" },
			pairs: [["format", "webp"]],
		});
		expect([titleOf("null"), titleOf("[1"), titleOf(undefined)]).toEqual(Array(3).fill({ pairs: [] }));
	});

	it("the beginning of JSON is read up to where it was cut", () => {
		const whole = JSON.stringify({ prompt: 'say "hi" \\ \n', list: [1, { deep: true }], end: 12 });
		for (let length = 1; length < whole.length; length += 1) {
			const read = readBeginning(whole.slice(0, length)) as { prompt?: string };
			if (length > 30) expect(read.prompt).toBe('say "hi" \\ \n');
			else if (length > 13) expect('say "hi" \\ \n'.startsWith(read.prompt!), `${length}`).toBe(true);
		}
	});
});

const failed = (id: number, error: string): JobSummary => ({
	id: `${id}`,
	status: "FAILED",
	delayTime: 0,
	executionTime: 0,
	submittedAt: "2026-01-01T00:00:00.000Z",
	endedAt: `2026-01-01T00:00:0${id}.000Z`,
	expired: false,
	error,
});

describe("failures", () => {
	it("numbers, paths, addresses and ids make no other cause", () => {
		expect(normalized("ffmpeg exited with code 1 for /tmp/work/7/in.wav at 0x7f31")).toBe(
			"ffmpeg exited with code N for … at …",
		);
		expect(normalized("GET https://h.example/a?b=1: 503 (01a1ff13-c2e4-775d-a489-6fd9c3e8ce72)")).toBe("GET …: N (…)");
		expect(normalized("no such harbour")).toBe("no such harbour");
	});

	it("groups have their number, their last time and what all of them contain", () => {
		const groups = groupsOf([
			failed(1, "out of memory"),
			failed(2, "code 1 in /tmp/a: no audio stream"),
			failed(4, "code 2 in /tmp/b: no audio stream"),
			failed(3, "code 2 in /tmp/c: no audio stream\nat line 7"),
		]);
		expect(
			groups.map(({ message, common, jobs, lastAt }) => [message, common, jobs.length, lastAt.slice(17, 19)]),
		).toEqual([
			["code N in …: no audio stream", ": no audio stream", 3, "04"],
			["out of memory", "out of memory", 1, "01"],
		]);
	});

	it("frames of libraries stand apart, and lines that repeat the message are left out", () => {
		const trace = [
			"Traceback (most recent call last):",
			'  File "/app/handler.py", line 3, in run',
			"    load()",
			'  File "/usr/lib/python3.12/site-packages/torch/a.py", line 9, in load',
			"    raise ValueError",
			'  File "/usr/lib/python3.12/site-packages/torch/b.py", line 1, in inner',
			"ValueError: no such model",
		].join("\n");
		const parts = partsOf(trace, "no such model");
		expect(parts.map(({ library, frames }) => [library, frames])).toEqual([
			[false, 1],
			[true, 2],
		]);
		expect(parts[0]!.text).toContain("    load()");
		expect(JSON.stringify(parts)).not.toContain("no such model");
	});
});

it("texts that workers stream as objects are one text; rows of a table are not", () => {
	expect(textIn([{ token: "hel" }, { token: "lo" }, { done: true }])).toBe("hello");
	expect(viewsOf([{ token: "hel" }, { token: "lo" }])).toEqual(["text", "json"]);
	for (const rows of [
		[{ port: "Bremen" }, { port: "Kiel" }],
		[
			{ text: "a", start: 0 },
			{ text: "b", start: 1 },
		],
	]) {
		expect(textIn(rows)).toBeUndefined();
		expect(viewsOf(rows)[0]).toBe("table");
	}
});

it("lanes: the wait with the start of its worker, each attempt, and the webhook at the end", () => {
	const at = (s: number): string => new Date(s * 1000).toISOString();
	const attempt = { attempt: 1, workerId: "w1", startedAt: at(10), endedAt: at(12), end: "lost", open: false } as const;
	const job = {
		submittedAt: at(0),
		endedAt: at(20),
		attempts: [
			attempt,
			{ ...attempt, attempt: 2, workerId: "w2", startedAt: at(14), endedAt: at(20), end: "completed" },
		],
	} as const;
	const hook = (s: number, status?: number) => ({ at: at(s), tookMs: 1000, ...(status ? { status } : {}) });
	const deliveries = [{ tries: [hook(20), hook(500, 200)] }] as unknown as Delivery[];
	const workers = [{ id: "w1", createdAt: at(4), readyAt: at(9) }];
	const { lanes, whole } = lanesOf(job, { now: 0, workers, deliveries });
	expect(
		lanes.map(({ kind, number, bars }) => [kind, number, bars.map((bar) => `${bar.kind} ${bar.from}+${bar.ms}`)]),
	).toEqual([
		["attempt", 1, ["wait 0+4000", "start 4000+5000", "wait 9000+1000", "run 10000+2000"]],
		["attempt", 2, ["wait 12000+2000", "run 14000+6000"]],
		["webhook", 2, ["webhook 20000+1000", "webhook 500000+1000"]],
	]);
	// An attempt minutes later does not flatten the job.
	expect(whole).toBe(21_000);
	expect(lanes[2]!.bars.map(({ end }) => end)).toEqual(["failed", "delivered"]);
});

it("D39: lanes: others made room for the worker before it started, on this machine or while it waited", () => {
	const at = (s: number): string => new Date(s * 1000).toISOString();
	const attempt = {
		attempt: 1,
		workerId: "w1",
		startedAt: at(20),
		endedAt: at(30),
		end: "completed",
		open: false,
	} as const;
	const job = { submittedAt: at(5), endedAt: at(30), attempts: [attempt] } as const;
	const bars = (createdAt: number, since: number, until: number): string[] => {
		const room = { since: at(since), until: at(until) };
		const workers = [{ id: "w1", createdAt: at(createdAt), readyAt: at(18), room }];
		const { lanes } = lanesOf(job, { now: 0, workers, deliveries: [] });
		return lanes.flatMap((lane) => lane.bars.map((bar) => `${bar.kind} ${bar.from / 1000}+${bar.ms / 1000}`));
	};
	expect(bars(10, 7, 10)).toEqual(["wait 0+2", "room 2+3", "start 5+8", "wait 13+2", "run 15+10"]);
	expect(bars(6, 9, 12)).toEqual(["wait 0+4", "room 4+3", "start 7+6", "wait 13+2", "run 15+10"]);
	// The decision was for an earlier job.
	expect(bars(10, 1, 10)).toEqual(["room 0+5", "start 5+8", "wait 13+2", "run 15+10"]);
});

it("the example in code is the last input, without its pictures", () => {
	const input = { flag: true, none: null, name: "it's `here`", image: `/9j/${"A".repeat(400)}` };
	expect(exampleOf(input)).toEqual({ ...input, image: "BASE64" });
	expect(asPython(input)).toContain('{"flag": True, "none": None, ');
	expect(JSON.parse(asJson(input))).toEqual(input);
	expect(inShell({ name: "it's" })).toBe(`{"name": "it'\\''s"}`);
	expect([inGo({ a: 1 }), inGo({ a: "`" })]).toEqual(['`{"a": 1}`', '"{\\"a\\": \\"`\\"}"']);
	for (const other of [undefined, { list: Array(500).fill(1) }, { openai_route: "/v1/models" }])
		expect(exampleOf(other)).toEqual({ prompt: "hello" });
});

it("tokens of code hold all of it", () => {
	const code = `# a comment\nimport os\nprint("#no", 12) // end\ncurl -d '{"a": 1}' http://h/x`;
	const tokens = tokensOf(code);
	expect(tokens.map(({ text }) => text).join("")).toBe(code);
	expect(tokens.filter(({ kind }) => kind !== "plain").map(({ kind, text }) => `${kind} ${text}`)).toEqual([
		"comment # a comment",
		"keyword import",
		"keyword print",
		'string "#no"',
		"number 12",
		"comment // end",
		"keyword curl",
		`string '{"a": 1}'`,
	]);
});

it("a range of the filter begins at a whole minute before now", () => {
	const filter = filterOf(new URLSearchParams("range=15m&from=2020-01-01T00:00"), Date.UTC(2026, 0, 1, 12, 0, 30));
	expect(filter.from).toBe("2026-01-01T11:45:00.000Z");
	expect([isFiltered(filter), isFiltered(filterOf(new URLSearchParams("range=no"), 0))]).toEqual([true, false]);
});

/** The log: a line per event, each with its time, as text or as JSON. */
import { describe, expect, it } from "vitest";
import { manualClock } from "../../test/support/manual-clock.ts";
import { eventBus } from "./events.ts";
import { log } from "./log.ts";

function logged(options: Partial<Parameters<typeof log>[0]> = {}) {
	const events = eventBus();
	const clock = manualClock();
	const lines: string[] = [];
	log({ events, clock, write: (line) => lines.push(line), ...options });
	return { events, lines, time: new Date(clock.now()).toISOString() };
}

const EXIT = { endpoint: "e", worker: "w", code: 7, signal: undefined, lastOutput: "one\ntwo\n" };

describe("text", () => {
	it("a worker's words stay on their line, whatever they hold", () => {
		const { events, lines, time } = logged();
		events.emit("worker.unhealthy", {
			endpoint: "e",
			worker: "w",
			reason: "disk: full\n2026-01-01T00:00:00.000Z the store can be written again\r\u001b[2K\u2028",
		});
		expect(lines).toEqual([
			`${time} e: worker w is unhealthy: disk: full 2026-01-01T00:00:00.000Z the store can be written again??\n`,
		]);
	});

	it("the last lines of a failed worker, and the stack of an error, stand below the sentence", () => {
		const { events, lines, time } = logged();
		events.emit("worker.exited", EXIT);
		events.emit("fault", { where: "here", error: new Error("broken") });
		expect(lines[0]).toBe(`${time} e: worker w ended with code 7; its last lines:\n    one\n    two\n`);
		const out = "\u001b[2J\u001b]0;title\u0007red\r\nnext\u0000";
		events.emit("worker.exited", { ...EXIT, lastOutput: out });
		expect(lines[2]).toBe(`${time} e: worker w ended with code 7; its last lines:\n    red\n    next?\n`);
		events.emit("worker.failed", { endpoint: "e", reason: "a\u001b[31m\nb", retryMs: 1000 });
		expect(lines[3]).toBe(`${time} e: no worker could be started: a b; next try in 1 s\n`);
		expect(lines[1]).toMatch(/^\S+ here: Error: broken\n {4}at .*\n/);
	});
});

it.each(["text", "json"] as const)(
	"%s: no text of a worker, client or receiver controls the terminal or begins a line",
	(format) => {
		const { events, lines } = logged({ format });
		const text = "a\u001b[2K\u009b2J\r\u0007\n2026-01-01T00:00:00.000Z forged";
		events.emit("worker.exited", { ...EXIT, lastOutput: text });
		events.emit("worker.failed", { endpoint: "e", reason: text, retryMs: 1000 });
		events.emit("fault", { where: "here", error: new Error(text) });
		for (const line of lines) {
			// oxlint-disable-next-line no-control-regex
			if (format === "text") expect(line).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/);
			expect(
				line
					.trimEnd()
					.split("\n")
					.slice(1)
					.filter((each) => !each.startsWith("    ")),
			).toEqual([]);
		}
	},
);

describe("JSON", () => {
	it("one object a line: level, time, event, its facts and the sentence", () => {
		const { events, lines, time } = logged({ format: "json" });
		events.emit("worker.exited", EXIT);
		events.emit("request.failed", {
			method: "GET",
			path: "/x",
			status: 500,
			requestId: "r",
			error: new Error("broken"),
		});
		expect(lines.map((line) => [line.endsWith("}\n"), JSON.parse(line)])).toEqual([
			[
				true,
				{
					level: "info",
					time,
					event: "worker.exited",
					endpoint: "e",
					worker: "w",
					code: 7,
					lastOutput: "one\ntwo\n",
					msg: "e: worker w ended with code 7",
				},
			],
			[
				true,
				expect.objectContaining({
					level: "error",
					event: "request.failed",
					status: 500,
					err: {
						type: "Error",
						message: "broken",
						stack: expect.stringContaining("log.test.ts"),
					},
					msg: "GET /x was answered 500 (r): Error: broken",
				}),
			],
		]);
	});

	it("no value of a fact that is named like a secret", () => {
		const { events, lines } = logged({ format: "json" });
		const facts = { endpoint: "e", token: "word-1", config: { password: "word-2" } };
		events.emit("endpoint.paused", facts);
		expect(JSON.parse(lines[0]!)).toMatchObject({ endpoint: "e", token: "[Redacted]" });
		expect(lines[0]).not.toMatch(/word-/);
	});
});

it.each(["text", "json"] as const)("%s: lines below the level are left out", (format) => {
	const { events, lines } = logged({ format, level: "warn" });
	events.emit("endpoint.paused", { endpoint: "e" });
	events.emit("store.away", { why: "full" });
	expect(lines).toHaveLength(1);
});

it("levels of areas, by the first part of the event's name", () => {
	const { events, lines } = logged({ level: "warn,endpoint=info,store=error,job=debug" });
	events.emit("endpoint.paused", { endpoint: "e" });
	events.emit("clock.stepped", { ms: 5000 });
	events.emit("starts.resumed", { endpoint: "e" });
	events.emit("store.back", {});
	events.emit("job.queued", { endpoint: "e", id: "1", ignored: ["a", "b"] });
	events.emit("lease.taken", { name: "sweep" });
	expect(lines.map((line) => line.replace(/^\S+ /, ""))).toEqual([
		"e: paused\n",
		expect.stringContaining("the time of day was set forward"),
		'job.queued endpoint=e id=1 ignored=["a","b"]\n',
	]);
});

it.each(["text", "json"] as const)("%s: nothing for 503 and for what every job does", (format) => {
	const { events, lines } = logged({ format });
	events.emit("request.failed", {
		method: "GET",
		path: "/x",
		status: 503,
		requestId: "",
		error: "store",
	});
	events.emit("job.queued", { endpoint: "e", id: "1" });
	expect(lines).toEqual([]);
});

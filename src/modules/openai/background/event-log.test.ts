import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { newJob } from "../../../kernel/core/jobs/job.ts";
import type { JobState } from "../../../kernel/core/jobs/job-states.ts";
import type { JobRecord } from "../../../kernel/store/contract/jobs.ts";
import { eventLog, type LogEvent } from "./event-log.ts";
import type { Shown } from "./response.ts";

const SHOWN: Shown = { id: "resp_ours", createdAt: 5, store: true, stream: true, repeated: '"model":"m"' };

/** The record of a job that has ended. `written`: number of the chunk that would follow. */
function ended(state: JobState, written: number, error?: string): JobRecord {
	const job = newJob(
		{
			...{ id: "j", endpoint: "ep", operation: "openai", lowPriority: false },
			...{ ttlMs: 1, executionTimeoutMs: 1, leaseMs: 1, retainMs: 1, recordMs: 1 },
		},
		0,
	);
	return { job: { ...job, state, startedAt: 1, endedAt: 2 }, error, attempts: [], chunks: { written, delivered: 0 } };
}

const sse = (type: string, members: object = {}): string => `data: ${JSON.stringify({ type, ...members })}\n\n`;
const RESPONSE = { id: "resp_worker", object: "response", status: "completed", n: 1 };
const WHOLE =
	sse("response.created", { response: RESPONSE }) +
	sse("response.in_progress", { response: { ...RESPONSE, status: "in_progress" } }) +
	sse("response.output_text.delta", { delta: "a", sequence_number: 41 }) +
	sse("response.completed", { sequence_number: 42, response: RESPONSE });

/** What readers get of the chunks from number `from` on, to the end of the job. */
function all(chunks: readonly string[], from = 0, found = ended("COMPLETED", from + chunks.length)): LogEvent[] {
	const log = eventLog(SHOWN);
	const events = [...log.opening()];
	for (const [index, text] of chunks.entries()) events.push(...log.chunk(from + index, JSON.stringify(text)));
	return [...events, ...log.rest(), log.last(found, 6)];
}

const shown = (events: readonly LogEvent[]): string[] => events.map(({ number, type }) => `${number} ${type}`);

describe("the events of a response", () => {
	it("D58: are counted from ours on, with our id and number in each", () => {
		const events = all([WHOLE]);
		expect(shown(events)).toEqual([
			"0 response.created",
			"1 response.queued",
			"2 response.in_progress",
			"3 response.output_text.delta",
			"4 response.completed",
		]);
		for (const { number, type, data } of events) {
			const event = JSON.parse(data);
			expect(event).toMatchObject({ type, sequence_number: number });
			if (event.response) expect(event.response).toMatchObject({ id: "resp_ours", background: true, created_at: 5 });
		}
		expect(events[3]!.data).toBe('{"type":"response.output_text.delta","delta":"a","sequence_number":3}');
	});

	it("D58: are the same, and so is the response, wherever a worker has cut its text", () => {
		const whole = all([WHOLE]);
		fc.assert(
			fc.property(fc.array(fc.nat(WHOLE.length)), (cuts) => {
				const at = [0, ...cuts.toSorted((a, b) => a - b), WHOLE.length];
				expect(all(at.slice(1).map((end, index) => WHOLE.slice(at[index], end)))).toEqual(whole);
			}),
		);
	});

	it("D58: after a lost attempt begin again, with numbers above all before, the same for each reader", () => {
		const live = eventLog(SHOWN);
		const before = [...live.opening(), ...live.chunk(0, JSON.stringify(WHOLE)), ...live.chunk(1, '"data: {"')];
		live.restart();
		const after = [...live.chunk(2, JSON.stringify(WHOLE))];
		const last = live.last(ended("COMPLETED", 3), 6);
		expect(shown([...after, last])).toEqual([
			"200000 response.queued",
			"200001 response.in_progress",
			"200002 response.output_text.delta",
			"200003 response.completed",
		]);
		expect(all([WHOLE], 2)).toEqual([...before.slice(0, 2), ...after, last]);
	});

	it("D58: a loss before the first chunk changes nothing", () => {
		const log = eventLog(SHOWN);
		const events = [...log.opening()];
		log.restart();
		events.push(...log.chunk(0, JSON.stringify(WHOLE)), log.last(ended("COMPLETED", 1), 6));
		expect(events).toEqual(all([WHOLE]));
	});

	it.each([
		["a failed job", [WHOLE], ended("FAILED", 3, "out of memory"), "failed", "out of memory"],
		["a cancelled job", [WHOLE.slice(0, 200)], ended("CANCELLED", 3), "cancelled", undefined],
		["a stream without a final event", [WHOLE.slice(0, 200)], ended("COMPLETED", 3), "failed", /without a final event/],
		["an event error", [sse("error", { message: "broke" })], ended("COMPLETED", 3), "failed", "broke"],
	])("D58: the end of %s is made here, above all numbers before", (_, chunks, found, status, message) => {
		const last = all(chunks, 0, found).at(-1)!;
		expect([last.number, last.type]).toEqual([300_000, `response.${status}`]);
		const { response } = JSON.parse(last.data);
		expect(response).toMatchObject({ id: "resp_ours", status, output: [], model: "m" });
		if (message === undefined) expect(response.error).toBeNull();
		else expect(response.error).toEqual({ code: "server_error", message: expect.stringMatching(message) });
	});

	it("D58: a failure that a worker sends in its stream is the end", () => {
		const log = eventLog(SHOWN);
		const events = [
			...log.opening(),
			...log.chunk(0, '{"error":{"message":"too long"}}'),
			...log.chunk(1, JSON.stringify(WHOLE)),
		];
		expect(shown(events)).toHaveLength(2);
		expect(log.last(ended("COMPLETED", 2), 6)).toMatchObject({ number: 2, type: "response.failed" });
		expect(log.ending(ended("COMPLETED", 2), 6)).toMatchObject({ status: "failed" });
	});

	it("D58: the result of a worker that does not stream ends them, after chunks of a lost attempt too", () => {
		for (const [written, first] of [
			[0, 2],
			[4, 400_001],
		] as const) {
			const log = eventLog(SHOWN);
			const events = [...log.opening()];
			const found = ended("COMPLETED", written);
			events.push(...log.results(found), ...log.result(JSON.stringify(RESPONSE)), log.last(found, 6));
			expect(shown(events.slice(-2))).toEqual([`${first} response.in_progress`, `${first + 1} response.completed`]);
			expect(JSON.parse(events.at(-1)!.data).response).toMatchObject({ id: "resp_ours", n: 1 });
		}
	});

	it("D58: the response of the final event is the one that is kept, its status as the event says", () => {
		const incomplete = sse("response.incomplete", { response: { ...RESPONSE, status: "in_progress" } });
		const log = eventLog(SHOWN);
		expect([...log.chunk(0, JSON.stringify(incomplete))]).toEqual([]);
		const { status, response } = log.ending(ended("COMPLETED", 1), 6);
		expect(status).toBe("incomplete");
		expect(JSON.parse(response as string)).toMatchObject({ id: "resp_ours", status: "incomplete", n: 1 });
	});

	it.each([
		["completed", "failed"],
		["incomplete", "completed"],
		["failed", "in_progress"],
	])("D58: a last event %s whose response says %s: the event counts, in it and in the response", (type, status) => {
		const [last] = all([sse(`response.${type}`, { response: { ...RESPONSE, status } })]).slice(-1);
		expect(last!.type).toBe(`response.${type}`);
		const { response } = JSON.parse(last!.data);
		expect(response).toMatchObject({ id: "resp_ours", status: type, n: 1 });
		const log = eventLog(SHOWN);
		expect([...log.chunk(0, JSON.stringify(sse(`response.${type}`, { response: { ...RESPONSE, status } })))]).toEqual(
			[],
		);
		const ending = log.ending(ended("COMPLETED", 1), 6);
		expect([ending.status, JSON.parse(ending.response as string)]).toEqual([type, response]);
	});

	it.each([[{}], [{ response: 1 }], [{ response: { object: "other" } }], [{ response: [] }]])(
		"D58: a last event with %j has no response, and is a failure",
		(members) => {
			const last = all([sse("response.completed", members)]).at(-1)!;
			expect([last.number, last.type]).toEqual([2, "response.failed"]);
			expect(JSON.parse(last.data).response).toMatchObject({
				status: "failed",
				error: { message: expect.stringContaining("no response") },
			});
		},
	);
});

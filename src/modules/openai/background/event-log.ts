/**
 * The events of a background response, with numbers that every reader gets for the same event (D58): those of the
 * first attempt are counted from 0. Chunks of a lost attempt are removed, and their numbers are not used again, so the
 * number of an attempt's first chunk says where its events begin: above all of the attempts before.
 */
import type { JobRecord } from "../../../kernel/store/contract/jobs.ts";
import { RESULT_LIMIT } from "../../../kernel/core/jobs/report.ts";
import { failureOfJob } from "../failures.ts";
import { eventReader, type Sent } from "./events.ts";
import { atOnce, blocksOf, membersOf, partOf } from "./members.ts";
import {
	type Ending,
	FINAL,
	type FinalStatus,
	ownObject,
	renumbered,
	responseIn,
	type Shown,
	withResponse,
	workersResponse,
} from "./response.ts";
import type { Status } from "./routes.ts";

/** More than the events that a chunk can have: it has at most 1,000,000 bytes, an event at least 14. */
const NUMBERS_PER_CHUNK = 100_000;

export interface LogEvent {
	number: number;
	type: string;
	/** JSON text on one line. */
	data: string;
}

/** The last event. `data`: what the worker has sent, with the response as it is shown. */
interface Final {
	number: number;
	status: FinalStatus;
	data?: string;
	response?: string;
	message?: string;
}

const NO_END = "The worker ended its stream without a final event.";
const NO_RESPONSE = "The worker's last event has no response.";
const TOO_LARGE = `The worker's stream has an event of more than ${RESULT_LIMIT} bytes.`;

/** What the service has made itself. */
export function ownEvent(number: number, type: string, response: string): LogEvent {
	return { number, type, data: `{"type":"${type}","sequence_number":${number},"response":${response}}` };
}

export type EventLog = ReturnType<typeof eventLog>;

export function eventLog(shown: Shown) {
	let reader = eventReader();
	let next = 0;
	/** Number of the next chunk. */
	let expected = 0;
	let hasChunks = false;
	let isLost = false;
	let final: Final | undefined;
	/** Message of an event `error`. */
	let said: string | undefined;

	const own = (status: Status): LogEvent => ownEvent(next++, `response.${status}`, ownObject(shown, status));

	function fail(message: string): void {
		final = { number: next++, status: "failed", message };
	}

	function* sent(all: Iterable<Sent>): Generator<LogEvent> {
		for (const each of all) {
			if (final) return;
			if (each.kind === "failure") fail(each.failure.message);
			else if (each.kind === "response") {
				const ending = atOnce(workersResponse(each.data, shown))!;
				yield own("in_progress");
				final = { number: next++, status: ending.status, response: ending.response as string };
			} else yield* event(each);
		}
	}

	function* event({ type, data }: { type: string; data: string }): Generator<LogEvent> {
		if (type === "response.created" || type === "response.queued") return;
		const status = FINAL.find((each) => type === `response.${each}`);
		if (status) {
			const whole = withResponse(data, status, shown);
			if (whole === undefined) fail(NO_RESPONSE);
			else final = { number: next++, status, data: whole };
		} else {
			if (type === "error") said = messageIn(data);
			const number = next++;
			yield { number, type, data: renumbered(data, number, shown) };
		}
	}

	function* output(text: string): Generator<LogEvent> {
		if (final) return;
		yield* sent(reader.push(text));
		if (reader.size > RESULT_LIMIT && !final) fail(TOO_LARGE);
	}

	/** Begins the events of another attempt. */
	function* begin(chunk: number): Generator<LogEvent> {
		reader = eventReader();
		next = Math.max(next, chunk * NUMBERS_PER_CHUNK);
		final = said = undefined;
		isLost = false;
		yield own("queued");
	}

	return {
		/** Whether there are chunks of the present attempt. */
		get hasChunks(): boolean {
			return hasChunks;
		},
		/** Characters that are held. */
		get size(): number {
			return reader.size + (final?.data ?? final?.response ?? "").length;
		},
		/** The events that exist before a worker has the job. */
		*opening(): Generator<LogEvent> {
			yield ownEvent(next++, "response.created", ownObject(shown, "queued"));
			yield own("queued");
		},
		/** A worker was lost: the next chunk is of another attempt. */
		restart(): void {
			isLost ||= hasChunks;
			hasChunks = false;
		},
		/** Takes the output of chunk `number`. The final event is held back until the job has ended. */
		*chunk(number: number, text: string): Generator<LogEvent> {
			if (isLost || number > expected) yield* begin(number);
			expected = number + 1;
			hasChunks = true;
			yield* output(text);
		},
		/** Begins with the result of a job that has no chunks. */
		*results({ chunks: { written } }: Pick<JobRecord, "chunks">): Generator<LogEvent> {
			if (written > 0) yield* begin(written);
		},
		/** Takes an element of such a result. */
		result: output,
		/** Takes what follows the last chunk of a job that has completed. */
		*rest(): Generator<LogEvent> {
			if (!final) yield* sent(reader.end());
		},
		/** The last event of a job that has ended. `completedAt`: seconds since 1970. */
		last(found: JobRecord, completedAt: number | null): LogEvent {
			const { number, status, data } = end(found);
			if (data !== undefined) return { number, type: `response.${status}`, data: renumbered(data, number, shown) };
			return ownEvent(number, `response.${status}`, ending(found, completedAt).response as string);
		},
		ending,
	};

	function end(found: JobRecord): Final {
		const { state } = found.job;
		if (state === "COMPLETED" && final) return final;
		// The chunks of a lost attempt may have been removed, whose events had numbers.
		const number = Math.max(next, found.chunks.written * NUMBERS_PER_CHUNK);
		if (state === "COMPLETED") return { number, status: "failed", message: said ?? NO_END };
		return { number, ...endOfJob(found) };
	}

	/** The response of a job that has ended. */
	function ending(found: JobRecord, completedAt: number | null): Ending {
		const { status, data, response, message } = end(found);
		const workers = response ?? (data === undefined ? undefined : responseIn(data));
		return { status, response: workers ?? ownObject(shown, status, { message, completedAt }) };
	}
}

/** The end of a job that has not completed. */
export function endOfJob(found: JobRecord): { status: FinalStatus; message?: string } {
	if (found.job.state === "CANCELLED") return { status: "cancelled" };
	return { status: "failed", message: failureOfJob(found).message };
}

function messageIn(data: string): string | undefined {
	const blocks = blocksOf(data);
	const message = atOnce(membersOf(blocks, ["message"] as const))?.message;
	return message?.kind === "string" ? (JSON.parse(partOf(blocks, message)) as string) : undefined;
}

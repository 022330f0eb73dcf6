/**
 * The form in which operations travel between the service's thread and the database's. Copying an
 * object costs by the names of its members, so the busiest operations travel as plain lists.
 */
import { newJob } from "../../../core/job.ts";
import type { Job } from "../../../core/job.ts";
import { sizeOf } from "../../../core/json/json-text.ts";
import type { JsonText } from "../../../core/json/json-text.ts";
import type { Claim, Idempotency, JobStore } from "../../contract/jobs.ts";
import type { Store } from "../../contract/store.ts";
import { numberOf } from "../../cursor.ts";
import { OP_NAMES } from "../../operations.ts";
import type { OpName } from "../../operations.ts";

/**
 * How one operation travels. `unpackAnswer` is given the query as well, for what need not travel
 * back.
 */
export interface Codec<Q, A> {
	pack(q: Q): unknown;
	unpack(packed: unknown): Q;
	packAnswer(answer: A): unknown;
	unpackAnswer(packed: unknown, q: Q): A;
}

type Args<M extends keyof JobStore> = Parameters<JobStore[M]>[0] extends infer Q ? Q : never;
type Given<M extends keyof JobStore> = Awaited<ReturnType<JobStore[M]>>;

function packJob(job: Job): unknown[] {
	return [
		job.id,
		job.endpoint,
		job.operation,
		job.lowPriority,
		job.state,
		job.submittedAt,
		job.queuedAt,
		job.startedAt,
		job.endedAt,
		job.attempt,
		job.worker,
		job.losses,
		job.returns,
		job.missed,
		job.ttlMs,
		job.executionTimeoutMs,
		job.leaseMs,
		job.leaseUntil,
		job.retainMs,
		job.recordMs,
		job.erased,
		job.dueAt,
		job.webhook,
		job.s3Config,
	];
}

type PackedJob = [
	string,
	string,
	Job["operation"],
	boolean,
	Job["state"],
	number,
	number,
	number | undefined,
	number | undefined,
	number,
	string | undefined,
	number,
	number,
	number,
	number,
	number,
	number,
	number | undefined,
	number,
	number,
	boolean,
	number,
	string | undefined,
	string | undefined,
];

function unpackJob(packed: unknown): Job {
	const [
		id,
		endpoint,
		operation,
		lowPriority,
		state,
		submittedAt,
		queuedAt,
		startedAt,
		endedAt,
		attempt,
		worker,
		losses,
		returns,
		missed,
		ttlMs,
		executionTimeoutMs,
		leaseMs,
		leaseUntil,
		retainMs,
		recordMs,
		erased,
		dueAt,
		webhook,
		s3Config,
	] = packed as PackedJob;
	return {
		id,
		endpoint,
		operation,
		lowPriority,
		state,
		submittedAt,
		queuedAt,
		startedAt,
		endedAt,
		attempt,
		worker,
		losses,
		returns,
		missed,
		ttlMs,
		executionTimeoutMs,
		leaseMs,
		leaseUntil,
		retainMs,
		recordMs,
		erased,
		dueAt,
		webhook,
		s3Config,
	};
}

const insert: Codec<Args<"insert">, Given<"insert">> = {
	pack: ({ submission: s, input, now, queueBound, idempotency }) => [
		input,
		now,
		queueBound,
		s.id,
		s.endpoint,
		s.operation,
		s.lowPriority,
		s.ttlMs,
		s.executionTimeoutMs,
		s.leaseMs,
		s.retainMs,
		s.recordMs,
		s.webhook,
		s.s3Config,
		idempotency,
	],
	unpack(packed) {
		const [
			input,
			now,
			queueBound,
			id,
			endpoint,
			operation,
			lowPriority,
			ttlMs,
			executionTimeoutMs,
			leaseMs,
			retainMs,
			recordMs,
			webhook,
			s3Config,
			idempotency,
		] = packed as [
			JsonText,
			number,
			number | undefined,
			string,
			string,
			Job["operation"],
			boolean,
			number,
			number,
			number,
			number,
			number,
			string | undefined,
			string | undefined,
			Idempotency | undefined,
		];
		return {
			submission: {
				id,
				endpoint,
				operation,
				lowPriority,
				ttlMs,
				executionTimeoutMs,
				leaseMs,
				retainMs,
				recordMs,
				webhook,
				s3Config,
			},
			input,
			now,
			queueBound,
			idempotency,
		};
	},
	packAnswer: (answer) => (answer.ok && !answer.repeated ? true : answer),
	unpackAnswer: (packed, q) =>
		packed === true ? { ok: true, job: newJob(q.submission, q.now) } : (packed as Given<"insert">),
};

const claim: Codec<Args<"claim">, Claim> = {
	pack: (q) => [q.endpoint, q.worker, q.limit, q.maxBytes, q.now],
	unpack(packed) {
		const [endpoint, worker, limit, maxBytes, now] = packed as [
			string,
			string,
			number,
			number,
			number,
		];
		return { endpoint, worker, limit, maxBytes, now };
	},
	packAnswer: ({ jobs, fenced }) => [
		fenced,
		...jobs.flatMap(({ job, input }) => [packJob(job), input]),
	],
	unpackAnswer(packed) {
		const [fenced, ...rest] = packed as [boolean, ...unknown[]];
		const jobs: Claim["jobs"] = [];
		for (let at = 0; at < rest.length; at += 2)
			jobs.push({ job: unpackJob(rest[at]), input: rest[at + 1] as JsonText });
		return { jobs, fenced };
	},
};

const report: Codec<Args<"report">, Given<"report">> = {
	pack: (q) => [q.endpoint, q.id, q.worker, q.outcome.on, q.outcome.output, q.outcome.error, q.now],
	unpack(packed) {
		const [endpoint, id, worker, on, output, error, now] = packed as [
			string,
			string,
			string,
			"complete" | "fail",
			JsonText | undefined,
			string | undefined,
			number,
		];
		return { endpoint, id, worker, outcome: { on, output, error }, now };
	},
	packAnswer: (answer) => (answer.ok ? packJob(answer.job) : answer),
	unpackAnswer: (packed) =>
		Array.isArray(packed) ? { ok: true, job: unpackJob(packed) } : (packed as Given<"report">),
};

const get: Codec<Args<"get">, Given<"get">> = {
	pack: (q) => [q.endpoint, q.id, q.now],
	unpack(packed) {
		const [endpoint, id, now] = packed as [string, string, number];
		return { endpoint, id, now };
	},
	packAnswer: (answer) => answer && [packJob(answer.job), answer.output, answer.error],
	unpackAnswer(packed) {
		if (packed === undefined) return undefined;
		const [job, output, error] = packed as [unknown, JsonText | undefined, string | undefined];
		return { job: unpackJob(job), output, error };
	},
};

/** A wrong cursor is told on this side: the class of an error does not travel. */
const listed: Codec<{ cursor?: string | undefined }, unknown> = {
	pack(q) {
		numberOf(q.cursor);
		return q;
	},
	unpack: (packed) => packed as { cursor?: string | undefined },
	packAnswer: (answer) => answer,
	unpackAnswer: (packed) => packed,
};

/** Everything else travels as it is. */
const plain: Codec<unknown, unknown> = {
	pack: (q) => q,
	unpack: (q) => q,
	packAnswer: (a) => a,
	unpackAnswer: (a) => a,
};

/** The form of each operation, by its number. */
export const CODECS: readonly Codec<unknown, unknown>[] = OP_NAMES.map((name) => {
	const packed = (
		{
			"jobs.insert": insert,
			"jobs.claim": claim,
			"jobs.report": report,
			"jobs.get": get,
			"jobs.list": listed,
			"webhooks.list": listed,
		} as Partial<Record<OpName, unknown>>
	)[name];
	return (packed as Codec<unknown, unknown> | undefined) ?? plain;
});

/**
 * Buffers that leave with a query instead of being copied: those of an input, since an insert is
 * never repeated from here.
 */
export function leavesWith(name: OpName, q: unknown): ArrayBuffer[] {
	const input = name === "jobs.insert" ? (q as Args<"insert">).input : "";
	return typeof input === "string" ? [] : input.map(({ buffer }) => buffer as ArrayBuffer);
}

/** Characters of payload in a query, by which batches are cut. */
export function weightOf(name: OpName, q: unknown): number {
	switch (name) {
		case "jobs.insert":
			return sizeOf((q as Args<"insert">).input);
		case "jobs.report":
			return sizeOf((q as Args<"report">).outcome.output ?? "");
		case "jobs.progress":
			return sizeOf((q as Args<"progress">).value);
		case "chunks.append":
			return (q as Parameters<Store["chunks"]["append"]>[0]).chunks.reduce(
				(sum, chunk) => sum + chunk.length,
				0,
			);
		default:
			return 0;
	}
}

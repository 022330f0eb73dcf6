/** Copying an object between threads costs by its member names: the most frequent operations are plain lists. */
import { newJob } from "../../../core/jobs/job.ts";
import type { JsonText } from "../../../lib/json/json-text.ts";
import type { Claim, JobStore } from "../../contract/jobs.ts";
import { packJob, SUBMISSION_MEMBERS, unpackJob, packer, unpacker } from "../../job-columns.ts";
import { numberOf } from "../../cursor.ts";
import type { OpName } from "../../operations/operation.ts";
import { OP_NAMES } from "../../operations/table.ts";

interface Codec<Q, A> {
	pack(q: Q): unknown;
	unpack(packed: unknown): Q;
	packAnswer(answer: A): unknown;
	unpackAnswer(packed: unknown, q: Q): A;
}

type Args<M extends keyof JobStore> = Parameters<JobStore[M]>[0] extends infer Q ? Q : never;
type Outcome<M extends keyof JobStore> = Awaited<ReturnType<JobStore[M]>>;

function listed<Q>(...paths: string[]): Pick<Codec<Q, never>, "pack" | "unpack"> {
	return { pack: packer<Q>(paths), unpack: unpacker<Q>(paths) as (packed: unknown) => Q };
}

const insert: Codec<Args<"insert">, Outcome<"insert">> = {
	...listed(
		"input",
		"now",
		"queueBound",
		"storedBound",
		"idempotency",
		...SUBMISSION_MEMBERS.map((member) => `submission.${member}`),
	),
	packAnswer: (answer) => (answer.ok && !answer.repeated ? true : answer),
	unpackAnswer: (packed, q) =>
		packed === true ? { ok: true, job: newJob(q.submission, q.now) } : (packed as Outcome<"insert">),
};

const claim: Codec<Args<"claim">, Claim> = {
	...listed("endpoint", "worker", "release", "limit", "maxBytes", "now", "without"),
	packAnswer: ({ jobs, fenced }) => [
		fenced,
		...jobs.flatMap(({ job, input, damage }) => [packJob(job), input ?? { damage }]),
	],
	unpackAnswer(packed) {
		const [fenced, ...rest] = packed as [boolean, ...unknown[]];
		const jobs: Claim["jobs"] = [];
		for (let at = 0; at < rest.length; at += 2) {
			const job = unpackJob(rest[at] as unknown[]);
			const input = rest[at + 1] as JsonText | { damage: string };
			if (typeof input === "object" && "damage" in input) jobs.push({ job, input: undefined, ...input });
			else jobs.push({ job, input });
		}
		return { jobs, fenced };
	},
};

const report: Codec<Args<"report">, Outcome<"report">> = {
	...listed(
		"endpoint",
		"id",
		"worker",
		"release",
		"outcome.on",
		"outcome.attempt",
		"outcome.output",
		"outcome.error",
		"outcome.workerEnd",
		"now",
	),
	packAnswer: (answer) => (answer.ok && !answer.late && !answer.lost ? packJob(answer.job) : answer),
	unpackAnswer: (packed) =>
		Array.isArray(packed) ? { ok: true, job: unpackJob(packed) } : (packed as Outcome<"report">),
};

const get: Codec<Args<"get">, Outcome<"get">> = {
	...listed("endpoint", "id", "now", "large"),
	packAnswer: (answer) => answer && [packJob(answer.job), answer.output, answer.error, answer.outputBytes],
	unpackAnswer(packed) {
		if (packed === undefined) return undefined;
		const [job, output, error, outputBytes] = packed as [
			unknown[],
			JsonText | undefined,
			string | undefined,
			number | undefined,
		];
		const read = { job: unpackJob(job), output, error };
		return outputBytes === undefined ? read : { ...read, outputBytes };
	},
};

/** A wrong cursor is refused on this side: an error's class is lost between threads. */
const plain: Codec<unknown, unknown> = {
	pack(q) {
		numberOf((q as { cursor?: string } | undefined)?.cursor);
		return q;
	},
	unpack: (q) => q,
	packAnswer: (a) => a,
	unpackAnswer: (a) => a,
};

export const CODECS: readonly Codec<unknown, unknown>[] = OP_NAMES.map((name) => {
	const packed: Partial<Record<OpName, unknown>> = {
		"jobs.insert": insert,
		"jobs.claim": claim,
		"jobs.report": report,
		"jobs.get": get,
	};
	return (packed[name] as Codec<unknown, unknown> | undefined) ?? plain;
});

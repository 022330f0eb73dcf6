/** Jobs that their workers return to the queue (D54). */
import { check, type Fault, type Schema } from "../../lib/schema.ts";
import { badRequest } from "../errors.ts";
import type { Attempt, Job } from "./job.ts";
import { lossOf } from "./job-transitions.ts";

/** Returns without a loss in one run; a further one counts as a loss. */
export const MAX_RETURNS = 10;

/**
 * Returns within this time count once, ms: many workers may return a job one after the other while the server behind
 * all of them restarts.
 */
export const RETURN_SPAN_MS = 5000;

/** Maximum characters of a reason that is stored with an attempt. */
export const REASON_LENGTH = 500;

/** Maximum characters of the JSON text of a `return`; a reason in escapes needs 12 for each of its characters. */
const RETURN_LENGTH = 16 * 1024;

/** The member `return` of a report. */
export const RETURN = {
	type: "object",
	properties: {
		reason: {
			type: "string",
			minLength: 1,
			maxLength: REASON_LENGTH,
			description: "Why the worker returns the job; shown in its timeline.",
			"x-message": `must be text of 1 to ${REASON_LENGTH} characters: why the worker returns the job.`,
		},
		loss: {
			type: "boolean",
			default: false,
			description: "Whether it counts as a loss: the job may be why the worker could not run it.",
			"x-message": "must be true or false.",
		},
		attempt: {
			type: "integer",
			minimum: 1,
			description: "The attempt that is returned, as it was handed out with Sluice-Run; another one is not touched.",
			"x-message": "must be the attempt of the job as it was handed out, a whole number of at least 1.",
		},
	},
	required: ["reason"],
	description: "Returns the job to the front of the queue, instead of a result.",
	"x-message": 'must be an object such as {"reason": "the server does not answer", "loss": false}.',
} as const satisfies Schema;

/** A report that the worker does not run the job. `restart`: see `stopPod` of a report. */
export interface JobReturn {
	kind: "return";
	reason: string;
	loss: boolean;
	/** Absent: whichever attempt the worker has. */
	attempt?: number;
	restart: boolean;
}

/** The parts of a report as JSON texts. */
interface Parts {
	return: string;
	output?: unknown;
	status?: unknown;
}

/**
 * Reads the `return` of a report. An `error` beside it is for services that do not know returns. Throws 400 if it is
 * not valid, or if a result or progress beside it would be lost.
 */
export function readReturn({ return: text, output, status }: Parts): Omit<JobReturn, "restart"> {
	if (text.length > RETURN_LENGTH)
		throw badRequest([
			{ field: "return", message: `has ${text.length} characters; at most ${RETURN_LENGTH} are read.` },
		]);
	const value = JSON.parse(text) as unknown;
	const faults: Fault[] = check(RETURN, value, "return");
	for (const [field, part] of Object.entries({ output, status }))
		if (part !== undefined)
			faults.push({ field, message: "must not be sent with return, which gives the job back without a result." });
	if (faults.length > 0) throw badRequest(faults);
	const { reason, loss, attempt } = value as { reason: string; loss?: boolean | null; attempt?: number | null };
	return { kind: "return", reason, loss: loss === true, ...(typeof attempt === "number" && { attempt }) };
}

/**
 * Returns the event by which a worker gives a job back at `now`. `history`: the attempts of the job before this one.
 * `asLoss`: the worker says that it is a loss.
 */
export function returnEvent(
	job: Job,
	{ history, asLoss, now }: { history: readonly Attempt[]; asLoss: boolean; now: number },
): "release" | "lose" | "exhaust" {
	const runFrom = job.retriedAt ?? job.submittedAt;
	const before = history.filter(
		({ returned, end, startedAt }) => returned && end === "released" && startedAt >= runFrom,
	);
	const times = [...before.map(({ endedAt }) => endedAt), now];
	return asLoss || countedOf(times) > MAX_RETURNS ? lossOf(job) : "release";
}

/** Counts times at least {@link RETURN_SPAN_MS} apart. */
function countedOf(times: readonly number[]): number {
	let count = 0;
	let countedAt = -Infinity;
	for (const time of times) {
		if (time < countedAt + RETURN_SPAN_MS) continue;
		count += 1;
		countedAt = time;
	}
	return count;
}

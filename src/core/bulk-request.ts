/** The body of `POST /v1/endpoints/{endpoint}/jobs/cancel` and `/retry` (D39). */
import type { Fault } from "./errors.ts";
import { LONGEST_SEARCH } from "./job-search.ts";
import { JOB_STATES, type JobState } from "./job-states.ts";
import { check, isAbsent, type Schema } from "./schema.ts";
import { NO_CONTROLS } from "./text.ts";

/** Date and time with zone. */
const MOMENT = {
	type: "string",
	pattern: "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(:\\d\\d(\\.\\d{1,9})?)?(Z|[+-]\\d\\d:\\d\\d)$",
	"x-message": "must be a date and time such as 2026-01-31T12:00:00Z.",
} as const satisfies Schema;

export const BULK_SCHEMA = {
	type: "object",
	properties: {
		filter: {
			type: "object",
			additionalProperties: false,
			properties: {
				status: {
					type: "array",
					items: { enum: JOB_STATES },
					description: "Only jobs in these states; absent: all that can be cancelled, or retried.",
					"x-message": "must be a list of job states.",
				},
				worker: {
					type: "string",
					minLength: 1,
					maxLength: 128,
					pattern: NO_CONTROLS,
					description: "Only jobs whose current or last attempt is on this worker.",
					"x-message": "must be text of 1 to 128 characters without control characters.",
				},
				from: { ...MOMENT, description: "Only jobs submitted at this moment or later." },
				to: { ...MOMENT, description: "Only jobs submitted before this moment." },
				search: {
					type: "string",
					minLength: 1,
					maxLength: LONGEST_SEARCH,
					pattern: NO_CONTROLS,
					description: "Only jobs with this text in their id, worker, error or input, as in the list of jobs.",
					"x-message": `must be text of 1 to ${LONGEST_SEARCH} characters without control characters.`,
				},
			},
		},
		dryRun: { type: "boolean", default: false, description: "Only count." },
		cursor: {
			type: "string",
			minLength: 1,
			maxLength: 200,
			pattern: NO_CONTROLS,
			description: "next of the previous answer: continues after the jobs that it checked.",
			"x-message": "must be text of 1 to 200 characters without control characters.",
		},
	},
	additionalProperties: false,
	"x-message": "must be an object with filter, dryRun and cursor, each optional.",
} as const satisfies Schema;

/** Times are ms since the epoch. */
interface BulkRequest {
	filter: {
		states?: JobState[] | undefined;
		worker?: string | undefined;
		from?: number | undefined;
		to?: number | undefined;
	};
	search: string | undefined;
	dryRun: boolean;
	cursor: string | undefined;
}

interface Raw {
	filter?: {
		status?: JobState[] | null;
		worker?: string | null;
		from?: string | null;
		to?: string | null;
		search?: string | null;
	} | null;
	dryRun?: boolean | null;
	cursor?: string | null;
}

/** Reads the body, or returns every fault. */
export function readBulkRequest(
	raw: unknown,
): { ok: true; request: BulkRequest } | { ok: false; faults: [Fault, ...Fault[]] } {
	const faults = check(BULK_SCHEMA, raw);
	const { filter, dryRun, cursor } = raw as Raw;
	const times: { from?: number | undefined; to?: number | undefined } = {};
	// What has faults may not even have a text.
	if (faults.length === 0)
		for (const name of ["from", "to"] as const) {
			const text = filter?.[name];
			if (isAbsent(text)) continue;
			times[name] = Date.parse(text);
			if (Number.isNaN(times[name])) faults.push({ field: `filter.${name}`, message: MOMENT["x-message"] });
		}
	const [first, ...rest] = faults;
	if (first) return { ok: false, faults: [first, ...rest] };
	return {
		ok: true,
		request: {
			filter: { states: filter?.status ?? undefined, worker: filter?.worker ?? undefined, ...times },
			search: filter?.search ?? undefined,
			dryRun: dryRun ?? false,
			cursor: cursor ?? undefined,
		},
	};
}

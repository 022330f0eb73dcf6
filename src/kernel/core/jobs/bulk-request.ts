/** The body of `POST /v1/endpoints/{endpoint}/jobs/cancel` and `/retry` (D39). */
import { LONGEST_SEARCH } from "./job-search.ts";
import { JOB_STATES, type JobState } from "./job-states.ts";
import { check, plainText, type Read, type Schema, withDefaults } from "../../lib/schema.ts";
import { DATE_TIME } from "../../lib/text.ts";

const MOMENT = {
	type: "string",
	pattern: DATE_TIME,
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
				worker: { ...plainText(1, 128), description: "Only jobs whose current or last attempt is on this worker." },
				from: { ...MOMENT, description: "Only jobs submitted at this moment or later." },
				to: { ...MOMENT, description: "Only jobs submitted before this moment." },
				search: {
					...plainText(1, LONGEST_SEARCH),
					description: "Only jobs with this text in their id, worker, error or input, as in the list of jobs.",
				},
			},
		},
		dryRun: { type: "boolean", default: false, description: "Only count." },
		cursor: {
			...plainText(1, 200),
			description: "next of the previous answer: continues after the jobs that it checked.",
		},
	},
	additionalProperties: false,
	"x-message": "must be an object with filter, dryRun and cursor, each optional.",
} as const satisfies Schema;

/** Times are ms since the epoch. */
interface BulkRequest {
	filter: {
		states: JobState[] | undefined;
		worker: string | undefined;
		from: number | undefined;
		to: number | undefined;
	};
	search: string | undefined;
	dryRun: boolean;
	cursor: string | undefined;
}

interface Body {
	filter?: { status?: JobState[]; worker?: string; from?: string; to?: string; search?: string };
	dryRun: boolean;
	cursor?: string;
}

export function readBulkRequest(raw: unknown): Read<{ request: BulkRequest }> {
	const faults = check(BULK_SCHEMA, raw);
	if (faults.length > 0) return { ok: false, faults };
	const { filter = {}, dryRun, cursor } = withDefaults(BULK_SCHEMA, raw) as Body;
	const timeOf = (name: "from" | "to"): number | undefined => {
		const text = filter[name];
		if (text === undefined) return undefined;
		const time = Date.parse(text);
		if (Number.isNaN(time)) faults.push({ field: `filter.${name}`, message: MOMENT["x-message"] });
		return time;
	};
	const times = { from: timeOf("from"), to: timeOf("to") };
	if (faults.length > 0) return { ok: false, faults };
	const { status: states, worker, search } = filter;
	return { ok: true, request: { filter: { states, worker, ...times }, search, dryRun, cursor } };
}

/** The output of a worker as server-sent events, for clients of RunPod's management API (D49). */
import { type Param, whole, word } from "../../../kernel/api/definition/params.ts";
import { managed } from "./operation.ts";
import { DATE_TIME } from "../../../kernel/lib/text.ts";

export const SOURCE = word(
	"source",
	["container", "system"],
	"Whose lines; without it all. The system writes none here.",
);

export const LOG_TAIL = whole("tail", {
	minimum: 0,
	maximum: 5000,
	default: 100,
	description: "Begin with this many of the last lines.",
});

/** Read as ms since the epoch. */
export const SINCE: Param<number> = {
	name: "since",
	bound: "a date and time with zone, such as 2026-01-31T12:00:00Z",
	description: "Begin with the first line of this time or later; tail then has no effect.",
	schema: { type: "string", format: "date-time" },
	read: timeIn,
};

export function timeIn(text: string): number | undefined {
	const time = new RegExp(DATE_TIME).test(text) ? Date.parse(text) : Number.NaN;
	return Number.isNaN(time) ? undefined : time;
}

export const STREAM_WORKER_LOGS = managed("streamWorkerLogs", "GET /v2/serverless/:endpoint/workers/:worker/logs", {
	summary: "The output of a launched worker: the last lines, then new ones, until the client leaves.",
	answer: {
		description:
			'Each line is an event {"ts", "source": "container", "line"}. Its id, TIME/POSITION, as Last-Event-ID ' +
			"continues after it, a time alone after all lines of that time; tail and since have no effect then. A " +
			"comment every 15 s keeps the connection. The stream stays open when the worker has ended.",
		media: "text/event-stream",
	},
	errors: ["worker_not_found"],
	query: [SOURCE, LOG_TAIL, SINCE],
});

/** Logs of workers and of the service (D47, D51). */
import { CURSOR, ENDPOINT_FILTER, flag, moment, text, whole, word } from "../../kernel/api/definition/params.ts";
import { route } from "../../kernel/api/definition/route.ts";
import { COUNT, FLAG, list, MOMENT, object, type Static, TEXT } from "../../kernel/api/definition/schema.ts";
import { LOG_LEVELS } from "../../kernel/core/workers/log-line.ts";

/** Bytes of workers' logs that a page of a search reads at a server. */
export const SEARCHED_LOG_BYTES = 32 * 2 ** 20;

const LINE = { text: TEXT, position: COUNT, "time?": MOMENT, "job?": TEXT, "level?": TEXT } as const;
const LOG_LINE = object(LINE);
export type LogLine = Static<typeof LOG_LINE>;

export const TAIL = whole("tail", {
	minimum: 0,
	maximum: 10_000,
	default: 100,
	description: "Start with this many of the last lines.",
});
export const WHOLE = flag("whole", "Start with the first line that is kept.");
export const FOLLOW = flag("follow", "Continue with what the worker writes, until it has exited.");
export const JOB_FILTER = text(
	"job",
	100,
	"Only lines of this job: those that the worker's SDK ascribes to it, and all it wrote while it held only this one.",
);

export const LEVEL = word("level", LOG_LEVELS, "Only lines of this level or above; a line without one counts as info.");
export const SINCE = moment("since", "Only lines written at this moment or later.");
export const UNTIL = moment("until", "Only lines written at this moment or before.");
export const SEARCH = { ...text("search", 200, "Only lines with this text, in any case of letters."), default: "" };
export const WORKER_LINES = text("worker", 128, "Only lines of this worker.");
export const LINES = whole("limit", {
	minimum: 1,
	maximum: 1000,
	default: 100,
	description: "At most this many lines.",
});

export const WORKER_LOGS = route("workerLogs", "GET /v1/endpoints/:endpoint/workers/:worker/logs", "admin", {
	frequent: true,
	summary: "The output of a launched worker: the last lines, then new ones.",
	answer: {
		description:
			"One object per line: {text, position}; time: when it was written, within 0.2 s; job: what the " +
			"worker's SDK ascribes it to, or the only job it held; level: the SDK's. A very long line is split.",
		media: "application/x-ndjson",
		events: "one event per line, with its position as id, which Last-Event-ID resumes after; end at the end",
	},
	errors: ["worker_not_found"],
	query: [TAIL, WHOLE, FOLLOW, JOB_FILTER],
});

const FOUND_LINE = object({ worker: TEXT, ...LINE, time: MOMENT });
export type FoundLine = Static<typeof FOUND_LINE>;

export const SEARCH_LOGS = route("searchLogs", "GET /v1/endpoints/:endpoint/logs", "admin", {
	frequent: true,
	summary: "Lines in all kept logs of the endpoint's launched workers, ended ones too.",
	answer: {
		description:
			"The newest lines, newest first; more: there may be others, from next on. A page reads about " +
			`${SEARCHED_LOG_BYTES / 2 ** 20} MiB of logs at each server, so it may have no line.`,
		schema: object({ lines: list(FOUND_LINE), more: FLAG, "next?": TEXT }),
	},
	query: [SEARCH, LEVEL, WORKER_LINES, JOB_FILTER, SINCE, UNTIL, LINES, CURSOR],
});

export const FOLLOW_LOG = flag("follow", "Continue with new lines until the connection is closed.");

export const SUBJECT = text("job", 128, "Only lines with this id of a job or of a request.");

export const SERVICE_LOG = route("serviceLog", "GET /v1/logs", "admin", {
	frequent: true,
	summary: "The log of the server that answers: its last lines, 1,000 or 1 MiB at most, then new ones.",
	answer: {
		description:
			"One object per line: {text, position, time, level}, and endpoint and job of what it is about. A line has " +
			"further lines below it where the log has them.",
		media: "application/x-ndjson",
		events: "one event per line, with its position as id, which Last-Event-ID resumes after",
	},
	query: [SEARCH, LEVEL, ENDPOINT_FILTER, SUBJECT, SINCE, UNTIL, TAIL, FOLLOW_LOG],
});

export const LOG_ROUTES = [WORKER_LOGS, SEARCH_LOGS, SERVICE_LOG] as const;

/** Servers and health (D40). */
import { flag, text, ENDPOINT_FILTER } from "./definition/params.ts";
import { route } from "./definition/route.ts";
import { FLAG, list, listIn, MOMENT, object, type Static, TEXT } from "./definition/schema.ts";
import { LEVEL, SEARCH, SINCE, TAIL, UNTIL } from "./workers.ts";

export const SERVER = object({
	id: TEXT,
	url: { ...TEXT, description: "Its address for the workers that it launches and for other servers." },
	startedAt: MOMENT,
	self: { ...FLAG, description: "It is the server that answers." },
	leads: {
		...list(TEXT),
		description:
			"What it does for all servers: sweep, removal, deliveries; scale: and an endpoint whose workers it launches.",
	},
});

export type Server = Static<typeof SERVER>;

export const LIST_SERVERS = route("listServers", "GET /v1/servers", "admin", {
	summary: "The servers that share the store, and what each does for all.",
	answer: {
		description: "The servers; empty if only this one can open the store.",
		schema: listIn("servers", SERVER),
	},
});

export const FOLLOW_LOG = flag("follow", "Continue with new lines until the connection is closed.");

export const SUBJECT = text("job", 128, "Only lines with this id of a job or of a request.");

export const SERVICE_LOG = route("serviceLog", "GET /v1/logs", "admin", {
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

export const HEALTHZ = route("healthz", "GET /healthz", "anyone", {
	summary: "Whether the process is alive.",
	answer: { description: "Alive.", schema: object({ ok: FLAG }) },
});

export const READYZ = route("readyz", "GET /readyz", "anyone", {
	summary: "Whether the server accepts requests.",
	answer: { description: "Ready.", schema: object({ ready: FLAG }) },
	errors: ["not_ready"],
});

export const SERVICE_ROUTES = [LIST_SERVERS, SERVICE_LOG, HEALTHZ, READYZ] as const;

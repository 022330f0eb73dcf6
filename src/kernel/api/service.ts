/** Servers and health (D40). */
import { route } from "./definition/route.ts";
import { FLAG, list, listIn, MOMENT, object, type Static, TEXT } from "./definition/schema.ts";

export const SERVER = object({
	id: TEXT,
	url: { ...TEXT, description: "Address at which the workers that it launches and other servers reach it." },
	startedAt: MOMENT,
	self: { ...FLAG, description: "Whether it is the server that answers." },
	leads: {
		...list(TEXT),
		description:
			"Roles that it has for all servers: sweep, removal, deliveries, and scale:ENDPOINT for each endpoint whose " +
			"workers it launches.",
	},
});

export type Server = Static<typeof SERVER>;

export const LIST_SERVERS = route("listServers", "GET /v1/servers", "admin", {
	summary: "The servers that share the store, and the roles of each.",
	answer: {
		description: "The servers; empty if only this one can open the store.",
		schema: listIn("servers", SERVER),
	},
});

export const HEALTHZ = route("healthz", "GET /healthz", "anyone", {
	summary: "Whether the process is alive.",
	answer: { description: "The process is alive.", schema: object({ ok: FLAG }) },
});

export const READYZ = route("readyz", "GET /readyz", "anyone", {
	summary: "Whether the server accepts requests.",
	answer: { description: "The server accepts requests.", schema: object({ ready: FLAG }) },
	errors: ["not_ready"],
});

export const SERVICE_ROUTES = [LIST_SERVERS, HEALTHZ, READYZ] as const;

/** Servers and health (D40). */
import { route } from "./definition/route.ts";
import { FLAG, list, listIn, MOMENT, object, type Static, TEXT } from "./definition/schema.ts";

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

export const HEALTHZ = route("healthz", "GET /healthz", "anyone", {
	summary: "Whether the process is alive.",
	answer: { description: "Alive.", schema: object({ ok: FLAG }) },
});

export const READYZ = route("readyz", "GET /readyz", "anyone", {
	summary: "Whether the server accepts requests.",
	answer: { description: "Ready.", schema: object({ ready: FLAG }) },
	errors: ["not_ready"],
});

export const SERVICE_ROUTES = [LIST_SERVERS, HEALTHZ, READYZ] as const;

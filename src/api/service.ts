/** Servers, health and API documentation (D40). */
import { FILE, PAGE, REDIRECT, route } from "./route.ts";
import { EXAMPLE, FLAG, list, listIn, MOMENT, object, TEXT } from "./schema.ts";

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

export const LIST_SERVERS = route({
	methods: ["GET"],
	path: "/v1/servers",
	access: "admin",
	name: "listServers",
	summary: "The servers that share the store, and what each does for all.",
	answer: {
		description: "The servers; empty if only this one can open the store.",
		schema: listIn("servers", SERVER),
		example: {
			servers: [
				{
					id: "0d8f6c1e2b7a4c55",
					url: "http://10.0.0.5:8080",
					startedAt: EXAMPLE.at,
					self: true,
					leads: ["scale:hello", "sweep"],
				},
			],
		},
	},
});

export const HEALTHZ = route({
	methods: ["GET"],
	path: "/healthz",
	access: "anyone",
	name: "healthz",
	summary: "Whether the process is alive.",
	answer: { description: "Alive.", schema: object({ ok: FLAG }), example: { ok: true } },
});

export const READYZ = route({
	methods: ["GET"],
	path: "/readyz",
	access: "anyone",
	name: "readyz",
	summary: "Whether the server accepts requests.",
	answer: { description: "Ready.", schema: object({ ready: FLAG }), example: { ready: true } },
	errors: ["not_ready"],
});

export const DOCUMENTATION_ROUTES = [
	route({
		methods: ["GET"],
		path: "/openapi.json",
		access: "anyone",
		name: "openapi",
		summary: "The API as an OpenAPI 3.1 document.",
		answer: {
			description: "This document.",
			schema: object({
				openapi: { const: "3.1.1" },
				servers: { type: "array" },
				info: { type: "object" },
				tags: { type: "array" },
				paths: { type: "object" },
				components: { type: "object" },
			}),
		},
		errors: ["documents_busy"],
	}),
	route({
		methods: ["GET", "HEAD"],
		path: "/docs/api/",
		access: "anyone",
		name: "apiReference",
		page: true,
		summary: "The same as an HTML page.",
		answer: PAGE,
		errors: ["documents_busy"],
	}),
	route({
		methods: ["GET", "HEAD"],
		path: "/docs/api",
		access: "anyone",
		name: "apiFolder",
		page: true,
		summary: "Redirects to the API reference.",
		answer: REDIRECT,
		status: 303,
	}),
	route({
		methods: ["GET", "HEAD"],
		path: "/docs/api/*",
		access: "anyone",
		name: "apiFile",
		page: true,
		summary: "The style and script of the API reference.",
		answer: FILE,
		errors: ["path_not_found", "documents_busy"],
	}),
	route({
		methods: ["GET", "HEAD"],
		path: "/docs/*",
		access: "anyone",
		name: "docsFile",
		page: true,
		summary: "A page or file of the documentation.",
		answer: FILE,
		errors: ["path_not_found", "documents_busy"],
	}),
	route({
		methods: ["GET", "HEAD"],
		path: "/docs/",
		access: "anyone",
		name: "docs",
		page: true,
		summary: "The documentation.",
		answer: PAGE,
		errors: ["documents_busy"],
	}),
	route({
		methods: ["GET", "HEAD"],
		path: "/docs",
		access: "anyone",
		name: "docsFolder",
		page: true,
		summary: "Redirects to the documentation.",
		answer: REDIRECT,
		status: 303,
	}),
] as const;

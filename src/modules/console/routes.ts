/** The web console: sign-in, sessions, files (D31, D38, D39), and files of the documentation (D40). */
import { text } from "../../kernel/api/definition/params.ts";
import { KEY } from "../../kernel/api/keys.ts";
import { type Answer, emptyAnswer, FILE, NO_BODY, PAGE, REDIRECT, route } from "../../kernel/api/definition/route.ts";
import { COUNT, FLAG, listIn, MOMENT, object, type Static, TEXT } from "../../kernel/api/definition/schema.ts";
import type { Schema } from "../../kernel/lib/schema.ts";
import { ERRORS } from "./errors.ts";

const CREDENTIAL = {
	type: "string",
	minLength: 1,
	maxLength: 1000,
	writeOnly: true,
	"x-message": "must be text of 1 to 1000 characters.",
} as const satisfies Schema;

export const SIGN_IN_SCHEMA = {
	type: "object",
	properties: {
		key: { ...CREDENTIAL, description: "An API key." },
		link: { ...CREDENTIAL, description: "In place of key: the end of a sign-in link, after #/link/." },
	},
	"x-message": "must be an object with key or link.",
} as const satisfies Schema;
export type SignIn = Static<typeof SIGN_IN_SCHEMA>;

export const PRINCIPAL = object(
	{ name: KEY.properties.name, scopes: KEY.properties.scopes, "endpoints?": KEY.properties.endpoints },
	{ description: "Who is signed in: the holder of a key, as the key is now." },
);
export type Principal = Static<typeof PRINCIPAL>;

const SESSION = {
	description: "The holder of the key.",
	schema: object({ principal: PRINCIPAL }),
} as const satisfies Answer;

const SIGNED_IN = {
	description: "The holder of the key, with the cookie, which is valid only with the page token.",
	schema: object({
		principal: PRINCIPAL,
		pageToken: { ...TEXT, description: "To be sent with the cookie as header Sluice-Page-Token, shown only here." },
	}),
} as const satisfies Answer;

const CREATE_CONSOLE_LINK = route("createConsoleLink", "POST /v1/console-link", "admin", {
	summary: "Creates a link that signs in to the console once, within 10 minutes, as the holder of this key.",
	answer: {
		description: "The link: the path to append to the address of the service.",
		schema: object({ path: TEXT, expiresAt: MOMENT }),
	},
	body: NO_BODY,
});

const SIGN_IN = route("signIn", "POST /console/session", "anyone", {
	summary: "Signs in to the console: cookie and page token of the answer replace the key.",
	answer: SIGNED_IN,
	body: {
		description: "The key or the sign-in link to sign in with.",
		schema: SIGN_IN_SCHEMA,
		checked: true,
	},
	errors: ["unauthorized", ERRORS.console_link_over, "too_many_failures", "store_unavailable"],
	signIn: true,
	session: true,
});

export const GET_SESSION = route("getSession", "GET /console/session", "read", {
	summary: "Who is signed in to the console.",
	answer: SESSION,
});

const SIGN_OUT = route("signOut", "DELETE /console/session", "anyone", {
	summary: "Ends the session of the console and removes its cookie.",
	answer: emptyAnswer("Signed out."),
	body: NO_BODY,
	errors: ["unauthorized", "store_unavailable"],
	session: true,
});

const SIGN_INS = ["key", "link"] as const;

export const CONSOLE_SESSION = object({
	id: TEXT,
	keyId: { ...TEXT, description: "Id of its key; environment for SLUICE_API_KEY." },
	keyName: { ...TEXT, description: "Name of its key." },
	signIn: { enum: SIGN_INS, description: "Whether the key or a sign-in link began it." },
	createdAt: MOMENT,
	lastUsedAt: { ...MOMENT, description: "Recorded at most once a minute." },
	expiresAt: { ...MOMENT, description: "When it ends unless it is used before." },
	address: { ...TEXT, description: "Address of that use, or of the proxy before the service." },
	client: { ...TEXT, description: "Browser or program that signed in, as it calls itself." },
	current: { ...FLAG, description: "Whether it is the session of this request." },
});
export type ConsoleSession = Static<typeof CONSOLE_SESSION>;

export const KEY_FILTER = text("key", 100, "Only sessions of the key with this id.");

const LIST_SESSIONS = route("listSessions", "GET /v1/sessions", "admin", {
	summary: "Sessions of the console, last used first.",
	answer: {
		description: "The sessions.",
		schema: listIn("sessions", CONSOLE_SESSION),
	},
});

const END_SESSION = route("endSession", "DELETE /v1/sessions/:session", "admin", {
	summary: "Ends a session of the console: its next request is refused.",
	answer: emptyAnswer("Done."),
	body: NO_BODY,
	errors: [ERRORS.session_not_found],
});

const END_SESSIONS = route("endSessions", "DELETE /v1/sessions", "admin", {
	summary: "Ends all sessions of the console but that of the caller.",
	answer: { description: "How many were ended.", schema: object({ ended: COUNT }) },
	body: NO_BODY,
	query: [KEY_FILTER],
});

export const SESSION_ROUTES = [LIST_SESSIONS, END_SESSION, END_SESSIONS] as const;

export const SIGN_IN_ROUTES = [CREATE_CONSOLE_LINK, SIGN_IN, GET_SESSION, SIGN_OUT] as const;

export const FILE_ROUTES = [
	route("consoleFile", "GET /console/*", "anyone", { summary: "A file of the console.", ...FILE }),
	route("console", "GET /console/", "anyone", { summary: "The web console.", ...PAGE }),
	route("consoleFolder", "GET /console", "anyone", { summary: "Redirects to the console.", ...REDIRECT }),
	route("root", "GET /", "anyone", {
		summary: "Redirects a browser to the console.",
		...REDIRECT,
		errors: ["path_not_found"],
	}),
	route("openapi", "GET /openapi.json", "anyone", {
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
	route("managementOpenapi", "GET /v2/openapi.json", "anyone", {
		...FILE,
		summary: "The same document as /openapi.json.",
	}),
	route("apiReference", "GET /docs/api/", "anyone", { summary: "The same as an HTML page.", ...PAGE }),
	route("apiFolder", "GET /docs/api", "anyone", { summary: "Redirects to the API reference.", ...REDIRECT }),
	route("apiFile", "GET /docs/api/*", "anyone", {
		summary: "The style and script of the API reference.",
		...FILE,
	}),
	route("docsFile", "GET /docs/*", "anyone", { summary: "A page or file of the documentation.", ...FILE }),
	route("docs", "GET /docs/", "anyone", { summary: "The documentation.", ...PAGE }),
	route("docsFolder", "GET /docs", "anyone", { summary: "Redirects to the documentation.", ...REDIRECT }),
] as const;

export const CONSOLE_ROUTES = [...SIGN_IN_ROUTES, ...SESSION_ROUTES, ...FILE_ROUTES] as const;

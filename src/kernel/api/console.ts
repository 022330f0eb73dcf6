/** The web console: sign-in and files (D31, D38). */
import { KEY } from "./keys.ts";
import { type Answer, emptyAnswer, FILE, NO_BODY, PAGE, REDIRECT, route } from "./definition/route.ts";
import { MOMENT, object, type Static, TEXT } from "./definition/schema.ts";
import type { Schema } from "../lib/schema.ts";

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

export const CREATE_CONSOLE_LINK = route("createConsoleLink", "POST /v1/console-link", "admin", {
	summary: "Creates a link that signs in to the console once, within 10 minutes, as the holder of this key.",
	answer: {
		description: "The link: the path to append to the address of the service.",
		schema: object({ path: TEXT, expiresAt: MOMENT }),
	},
	body: NO_BODY,
});

export const SIGN_IN = route("signIn", "POST /console/session", "anyone", {
	summary: "Signs in to the console: cookie and page token of the answer replace the key.",
	answer: SIGNED_IN,
	body: {
		description: "The key or the sign-in link to sign in with.",
		schema: SIGN_IN_SCHEMA,
		checked: true,
	},
	errors: ["unauthorized", "console_link_over", "too_many_failures", "store_unavailable"],
	signIn: true,
	session: true,
});

export const GET_SESSION = route("getSession", "GET /console/session", "read", {
	summary: "Who is signed in to the console.",
	answer: SESSION,
});

export const SIGN_OUT = route("signOut", "DELETE /console/session", "anyone", {
	summary: "Ends the session of the console and removes its cookie.",
	answer: emptyAnswer("Signed out."),
	body: NO_BODY,
	errors: ["unauthorized", "store_unavailable"],
	session: true,
});

export const CONSOLE_ROUTES = [
	CREATE_CONSOLE_LINK,
	SIGN_IN,
	GET_SESSION,
	SIGN_OUT,
	route("consoleFile", "GET /console/*", "anyone", { summary: "A file of the console.", ...FILE }),
	route("console", "GET /console/", "anyone", { summary: "The web console.", ...PAGE }),
	route("consoleFolder", "GET /console", "anyone", { summary: "Redirects to the console.", ...REDIRECT }),
	route("root", "GET /", "anyone", {
		summary: "Redirects a browser to the console.",
		...REDIRECT,
		errors: ["path_not_found"],
	}),
] as const;

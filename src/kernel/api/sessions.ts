/** Console sessions for administrators (D31, D39). */
import { text } from "./definition/params.ts";
import { emptyAnswer, NO_BODY, route } from "./definition/route.ts";
import { COUNT, FLAG, listIn, MOMENT, object, type Static, TEXT } from "./definition/schema.ts";

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

export const LIST_SESSIONS = route("listSessions", "GET /v1/sessions", "admin", {
	summary: "Sessions of the console, last used first.",
	answer: {
		description: "The sessions.",
		schema: listIn("sessions", CONSOLE_SESSION),
	},
});

export const END_SESSION = route("endSession", "DELETE /v1/sessions/:session", "admin", {
	summary: "Ends a session of the console: its next request is refused.",
	answer: emptyAnswer("Done."),
	body: NO_BODY,
});

export const END_SESSIONS = route("endSessions", "DELETE /v1/sessions", "admin", {
	summary: "Ends all sessions of the console but that of the caller.",
	answer: { description: "How many were ended.", schema: object({ ended: COUNT }) },
	body: NO_BODY,
	query: [KEY_FILTER],
});

export const SESSION_ROUTES = [LIST_SESSIONS, END_SESSION, END_SESSIONS] as const;

/**
 * The half of the session that this origin keeps and sends with each call (D31): the cookie reaches
 * every port of the host, local storage does not.
 */
import { recall, remember } from "./memory.ts";

/** By path: services below several paths of one origin have a session each. */
const NAME = `session.${location.pathname}`;

/** Used where the browser refuses storage: then it is lost at a reload. */
let ofThisPage: string | undefined;

/** Replaces it; undefined forgets it. */
export function keepPageToken(token: string | undefined): void {
	ofThisPage = token;
	remember(NAME, token);
}

/** The header with it. Another tab may have signed in since: it is read each time. */
export function sessionHeaders(): Record<string, string> {
	const token = recall(NAME) ?? ofThisPage;
	return typeof token === "string" ? { "Sluice-Page-Token": token } : {};
}

import type { CONSOLE_ROUTES } from "../../api/console.ts";
import * as session from "./session-api.ts";
import * as site from "./console-api.ts";
import type { HandlersOf } from "../server/route.ts";

export const CONSOLE_HANDLERS: HandlersOf<typeof CONSOLE_ROUTES> = {
	createConsoleLink: session.createLink,
	signIn: session.signIn,
	getSession: session.session,
	signOut: session.signOut,
	consoleFile: site.file,
	console: site.page,
	consoleFolder: site.folder,
	root: site.root,
};

/** Opens the console (D31, D38) with its sessions, and the files of the documentation (D40). */
import type { HandlersOf } from "../../kernel/http/server/route.ts";
import type { Kernel, OpenModule } from "../../kernel/module.ts";
import { authenticator } from "./authenticator.ts";
import { bundle } from "./bundle.ts";
import { consoleFiles } from "./console-files.ts";
import { docsFiles } from "./docs-files.ts";
import { createLinks } from "./links.ts";
import { referenceFiles } from "./reference-files.ts";
import type { FILE_ROUTES } from "./routes.ts";
import { sessionCookie } from "./session-cookie.ts";
import { sessionHandlers } from "./session-handlers.ts";
import { createSessions } from "./sessions.ts";
import { signInHandlers } from "./sign-in.ts";

export async function openConsole(kernel: Kernel): Promise<OpenModule> {
	const { keys, failures, alsoForget } = kernel.access;
	// Sessions and links end by the time of day, also while the machine is suspended.
	const context = { ...kernel, keys, now: () => kernel.calendar.now() as number };
	const sessions = createSessions({ ...context, strained: failures.strained });
	alsoForget(sessions.cached);
	const cookie = sessionCookie(sessions);
	const links = createLinks(context);
	const files: HandlersOf<typeof FILE_ROUTES> = {
		...consoleFiles(bundle(kernel.siteFolder("console"))),
		...docsFiles(bundle(kernel.siteFolder("docs"))),
		...referenceFiles(bundle(kernel.siteFolder("reference"))),
	};
	return {
		handlers: { ...signInHandlers({ sessions, cookie, links, keys }), ...sessionHandlers(sessions), ...files },
		authenticator: authenticator(sessions, cookie, failures),
		signInLink: async () => (await links.makeOwn())?.path,
	};
}

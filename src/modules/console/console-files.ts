/** Files of the web console and redirects to it (D31, D38). */
import type { Bundle } from "./bundle.ts";
import { prefers } from "../../kernel/http/exchange/accept.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { INDEX, noFile, redirect, sendFile, sendNotBuilt } from "./send-file.ts";

/** No inline scripts or styles. Result media are data URLs. */
const POLICY = [
	"default-src 'none'",
	"script-src 'self'",
	"style-src 'self'",
	"connect-src 'self'",
	"img-src 'self' data: blob:",
	"media-src 'self' data: blob:",
	"font-src 'self'",
	"frame-ancestors 'none'",
	"base-uri 'none'",
	"form-action 'self'",
].join("; ");

const NOT_BUILT = {
	title: "The console is not built",
	command: "npm run build",
};

export function consoleFiles(site: Bundle) {
	return {
		async console(call: Call): Promise<void> {
			const found = (await site.files())?.get(INDEX);
			if (found) await sendFile(call, found, POLICY);
			else sendNotBuilt(call, NOT_BUILT, POLICY);
		},
		/** Paths without a dot redirect to the page. */
		async consoleFile(call: Call<"rest">): Promise<void> {
			const { path, params } = call;
			const found = (await site.files())?.get(params.rest);
			if (found) return await sendFile(call, found, POLICY);
			if (params.rest.includes(".")) throw noFile(call);
			redirect(call, "../".repeat(path.split("/").length - 3) || "./");
		},
		consoleFolder: (call: Call): void => redirect(call, "console/"),
		/** Redirects browsers to the console, else 404. */
		root(call: Call): void {
			if (!prefers(call.req.headers.accept, "text/html", "application/json")) throw noFile(call);
			redirect(call, "console/");
		},
	};
}

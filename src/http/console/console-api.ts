/** `/console/`: files of the web console, and redirects (D31, D38). */
import { ApiError } from "../../core/errors.ts";
import type { Call } from "../call.ts";
import { INDEX, redirect, sendFile, sendNotBuilt } from "../site-files.ts";

/** Own files only, no inline scripts or styles; result media are data URLs. */
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

/** GET /console/. */
export async function page(call: Call): Promise<void> {
	const found = (await call.service.sites.console.files())?.get(INDEX);
	if (found) await sendFile(call, found, POLICY);
	else sendNotBuilt(call, NOT_BUILT, POLICY);
}

/** GET below /console/: a file; paths without a dot redirect to the page. */
export async function file(call: Call): Promise<void> {
	const { path, params } = call;
	const found = (await call.service.sites.console.files())?.get(params.rest);
	if (found) return await sendFile(call, found, POLICY);
	if (params.rest.includes("."))
		throw new ApiError("path_not_found", {
			method: call.req.method ?? "",
			path: path.slice(0, 200),
		});
	redirect(call, "../".repeat(path.split("/").length - 3) || "./");
}

/** GET /console: adds the slash, since addresses in the page are relative. */
export function folder(call: Call): void {
	redirect(call, "console/");
}

/** GET /: to the console for browsers, else 404. */
export function root(call: Call): void {
	if (!/\btext\/html\b/.test(call.req.headers.accept ?? ""))
		throw new ApiError("path_not_found", { method: call.req.method ?? "", path: "/" });
	redirect(call, "console/");
}

/** Files of the web console and redirects to it (D31, D38). */
import { prefers } from "../exchange/accept.ts";
import type { Call } from "../exchange/call.ts";
import { INDEX, noFile, redirect, sendFile, sendNotBuilt } from "../docs/site-files.ts";

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

export async function page(call: Call): Promise<void> {
	const found = (await call.service.sites.console.files())?.get(INDEX);
	if (found) await sendFile(call, found, POLICY);
	else sendNotBuilt(call, NOT_BUILT, POLICY);
}

/** Paths without a dot redirect to the page. */
export async function file(call: Call<"rest">): Promise<void> {
	const { path, params } = call;
	const found = (await call.service.sites.console.files())?.get(params.rest);
	if (found) return await sendFile(call, found, POLICY);
	if (params.rest.includes(".")) throw noFile(call);
	redirect(call, "../".repeat(path.split("/").length - 3) || "./");
}

export function folder(call: Call): void {
	redirect(call, "console/");
}

/** Redirects browsers to the console, else 404. */
export function root(call: Call): void {
	if (!prefers(call.req.headers.accept, "text/html", "application/json")) throw noFile(call);
	redirect(call, "console/");
}

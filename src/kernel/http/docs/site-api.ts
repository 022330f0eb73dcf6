/** Files of the documentation site and redirects to them (D40). */
import { type Call, query } from "../exchange/call.ts";
import { INDEX, noFile, redirect, sendFile, sendNotBuilt } from "./site-files.ts";

/** The search is WebAssembly. */
const POLICY = [
	"default-src 'none'",
	"script-src 'self' 'wasm-unsafe-eval'",
	"style-src 'self'",
	"connect-src 'self'",
	"img-src 'self' data:",
	"worker-src 'self'",
	"frame-ancestors 'none'",
	"base-uri 'none'",
	"form-action 'self'",
].join("; ");

const NOT_BUILT = {
	title: "The documentation is not built",
	command: "npm run site",
	more:
		"<p>A package has it if that was run before <code>npm pack</code>.</p>" +
		'<p>The <a href="api/">API reference</a> needs no build.</p>',
};

export async function docs(call: Call): Promise<void> {
	const found = (await call.service.sites.docs.files())?.get(INDEX);
	if (found) await sendFile(call, found, POLICY);
	else sendNotBuilt(call, NOT_BUILT, POLICY);
}

export async function docsFile(call: Call<"rest">): Promise<void> {
	const { params } = call;
	const files = await call.service.sites.docs.files();
	const found = files?.get(params.rest.replace(/\/$/, `/${INDEX}`));
	if (found) return await sendFile(call, found, POLICY);
	if (files?.has(`${params.rest}/${INDEX}`)) return redirect(call, `${params.rest.split("/").at(-1)}/`);
	throw noFile(call);
}

/** `?endpoint=` still means the API reference. */
export function docsFolder(call: Call): void {
	const endpoint = query(call).get("endpoint");
	redirect(call, endpoint === null ? "docs/" : `docs/api/?endpoint=${encodeURIComponent(endpoint)}`);
}

export function apiFolder(call: Call): void {
	redirect(call, "api/");
}

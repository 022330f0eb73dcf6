/** `/openapi.json` and `/docs/api/`, public, built by `scripts/api-page/`. */
import type { Call } from "../exchange/call.ts";
import { INDEX, noFile, sendFile } from "./site-files.ts";

const POLICY = [
	"default-src 'none'",
	"style-src 'self'",
	"script-src 'self'",
	"img-src data:",
	"form-action 'self'",
	"base-uri 'none'",
	"frame-ancestors 'none'",
].join("; ");

export function openapi(call: Call): Promise<void> {
	return send(call, "openapi.json");
}

/** `?endpoint=` sets the endpoint in examples, in the page's script. */
export function apiReference(call: Call): Promise<void> {
	return send(call, INDEX);
}

export function apiFile(call: Call<"rest">): Promise<void> {
	return send(call, call.params.rest);
}

async function send(call: Call, name: string): Promise<void> {
	const found = (await call.service.sites.reference.files())?.get(name);
	if (found) return await sendFile(call, found, POLICY);
	throw noFile(call);
}

/** `/openapi.json` and `/docs/api/`, public: files that the build makes of the definitions (`scripts/api-page/`). */
import { ApiError } from "../../core/errors.ts";
import type { Call } from "../call.ts";
import { INDEX, sendFile } from "../site-files.ts";

/** Own files only. */
const POLICY = [
	"default-src 'none'",
	"style-src 'self'",
	"script-src 'self'",
	"img-src data:",
	"form-action 'self'",
	"base-uri 'none'",
	"frame-ancestors 'none'",
].join("; ");

/** GET /openapi.json. */
export function openapi(call: Call): Promise<void> {
	return send(call, "openapi.json");
}

/** GET /docs/api/; `?endpoint=` sets the endpoint in examples, in the page's script. */
export function apiReference(call: Call): Promise<void> {
	return send(call, INDEX);
}

/** GET below /docs/api/: its style and script. */
export function apiFile(call: Call): Promise<void> {
	return send(call, call.params.rest);
}

async function send(call: Call, name: string): Promise<void> {
	const found = (await call.service.sites.reference.files())?.get(name);
	if (found) return await sendFile(call, found, POLICY);
	throw new ApiError("path_not_found", { method: call.req.method ?? "", path: call.path.slice(0, 200) });
}

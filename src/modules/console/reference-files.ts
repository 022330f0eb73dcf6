/** `/openapi.json` and `/docs/api/`, public, built by `scripts/api-page/`. */
import type { Call } from "../../kernel/http/exchange/call.ts";
import type { Bundle } from "./bundle.ts";
import { INDEX, noFile, redirect, sendFile } from "./send-file.ts";

const POLICY = [
	"default-src 'none'",
	"style-src 'self'",
	"script-src 'self'",
	"img-src data:",
	"form-action 'self'",
	"base-uri 'none'",
	"frame-ancestors 'none'",
].join("; ");

export function referenceFiles(site: Bundle) {
	async function send(call: Call, name: string): Promise<void> {
		const found = (await site.files())?.get(name);
		if (found) return await sendFile(call, found, POLICY);
		throw noFile(call);
	}

	const document = (call: Call): Promise<void> => send(call, "openapi.json");

	return {
		openapi: document,
		managementOpenapi: document,
		/** `?endpoint=` sets the endpoint in examples, in the page's script. */
		apiReference: (call: Call): Promise<void> => send(call, INDEX),
		apiFile: (call: Call<"rest">): Promise<void> => send(call, call.params.rest),
		apiFolder: (call: Call): void => redirect(call, "api/"),
	};
}

/** `/openapi.json` and `/docs`, public. Built once; answers differ only in address and endpoint. */
import { createHash } from "node:crypto";
import { OPERATIONS } from "../../api/operations.ts";
import { ENDPOINT_ID } from "../../core/endpoint-schema.ts";
import { check } from "../../core/schema.ts";
import { version } from "../../version.ts";
import { query } from "../call.ts";
import type { Call } from "../call.ts";
import { DOCS_CSS } from "./page-css.ts";
import { docsPage } from "./page.ts";
import { escaped } from "./html.ts";
import { openapiOf } from "./openapi.ts";
import { json } from "../reply.ts";

/** Default endpoint in examples. */
const EXAMPLE_ENDPOINT = "thumbnail";

/** Placeholders, replaced per answer. */
const [ADDRESS, ENDPOINT] = ["\u0001address", "\u0001endpoint"] as const;

/** Only the page's own style and form. */
const POLICY = [
	"default-src 'none'",
	`style-src 'sha256-${createHash("sha256").update(DOCS_CSS).digest("base64")}'`,
	"img-src data:",
	"form-action 'self'",
	"base-uri 'none'",
	"frame-ancestors 'none'",
].join("; ");

let built: { document: string; page: string } | undefined;

function build(): { document: string; page: string } {
	if (built) return built;
	const { openapi: _, ...document } = openapiOf(OPERATIONS, version);
	const page = docsPage(
		{ openapi: "3.1.1", ...document },
		{ address: ADDRESS, endpoint: ENDPOINT },
	);
	return (built = { document: JSON.stringify(document).slice(1), page });
}

/** GET /openapi.json. */
export function openapi(call: Call): void {
	const servers = JSON.stringify([{ url: addressOf(call) }]);
	json(call.res, `{"openapi":"3.1.1","servers":${servers},${build().document}`, ["Vary", "Host"]);
}

/** GET /docs; `?endpoint=` sets the endpoint in examples. */
export function docs(call: Call): void {
	const requested = query(call).get("endpoint") ?? EXAMPLE_ENDPOINT;
	const endpoint = check(ENDPOINT_ID, requested).length === 0 ? requested : EXAMPLE_ENDPOINT;
	const text = build()
		.page.replaceAll(ADDRESS, escaped(addressOf(call)))
		.replaceAll(ENDPOINT, endpoint);
	call.res.writeHead(200, {
		"Content-Type": "text/html; charset=utf-8",
		"Content-Length": Buffer.byteLength(text),
		"Content-Security-Policy": POLICY,
		"X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "no-referrer",
		Vary: "Host",
	});
	call.res.end(text);
}

/** Address used by the caller; behind a proxy with the scheme it reports. */
function addressOf({ req }: Call): string {
	const { host = "", "x-forwarded-proto": scheme } = req.headers;
	if (!/^[a-zA-Z0-9.:[\]_-]{1,255}$/.test(host)) return "";
	return `${scheme === "https" ? "https" : "http"}://${host}`;
}

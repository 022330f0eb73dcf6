/** `/openapi.json` and `/docs/api/`, public. Built once; answers differ only in address and endpoint. */
import { createHash } from "node:crypto";
import { OPERATIONS } from "../../api/operations.ts";
import { ENDPOINT_ID } from "../../core/endpoint-schema.ts";
import { check } from "../../core/schema.ts";
import { version } from "../../version.ts";
import { type Call, query } from "../call.ts";
import { DOCS_CSS } from "./page-css.ts";
import { DOCS_SCRIPT } from "./page-script.ts";
import { docsPage } from "./page.ts";
import { escaped } from "./html.ts";
import { openapiOf } from "./openapi.ts";
import { variantsOf } from "./variants.ts";
import { sendCacheable } from "../cached-answer.ts";
import { isEncrypted } from "../tls.ts";

/** Default endpoint in examples. */
const EXAMPLE_ENDPOINT = "thumbnail";

/** Placeholders, replaced per answer. */
const [ADDRESS, ENDPOINT] = ["\u0001address", "\u0001endpoint"] as const;

/** The address is that of the request. */
const VARY = ["Host", "X-Forwarded-Proto"];

const KEPT = ["Cache-Control", "no-cache", "X-Content-Type-Options", "nosniff"];

/** Only the page's own style, script and form. */
const POLICY = [
	"default-src 'none'",
	`style-src ${hashOf(DOCS_CSS)}`,
	`script-src ${hashOf(DOCS_SCRIPT)}`,
	"img-src data:",
	"form-action 'self'",
	"base-uri 'none'",
	"frame-ancestors 'none'",
].join("; ");

function hashOf(text: string): string {
	return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}

let built: Record<"document" | "page", ReturnType<typeof variantsOf>> | undefined;

function build(): NonNullable<typeof built> {
	if (built) return built;
	const document = { ...openapiOf(OPERATIONS, version), servers: [{ url: ADDRESS }] };
	const page = docsPage(document, { address: ADDRESS, endpoint: ENDPOINT });
	return (built = {
		document: variantsOf(JSON.stringify(document), [JSON.stringify(ADDRESS).slice(1, -1)]),
		page: variantsOf(page, [ADDRESS, ENDPOINT]),
	});
}

/** GET /openapi.json. */
export async function openapi(call: Call): Promise<void> {
	await sendCacheable(call, build().document([addressOf(call)]), {
		headers: ["Content-Type", "application/json", ...KEPT],
		vary: VARY,
	});
}

/** GET /docs/api/; `?endpoint=` sets the endpoint in examples. */
export async function apiReference(call: Call): Promise<void> {
	const requested = query(call).get("endpoint") ?? EXAMPLE_ENDPOINT;
	const endpoint = check(ENDPOINT_ID, requested).length === 0 ? requested : EXAMPLE_ENDPOINT;
	await sendCacheable(call, build().page([escaped(addressOf(call)), endpoint]), {
		headers: [
			"Content-Type",
			"text/html; charset=utf-8",
			"Content-Security-Policy",
			POLICY,
			"Referrer-Policy",
			"no-referrer",
			...KEPT,
		],
		vary: VARY,
	});
}

/** Address used by the caller: https with TLS here, or behind a proxy that reports it. */
function addressOf({ req }: Call): string {
	const { host = "", "x-forwarded-proto": scheme } = req.headers;
	if (!/^[a-zA-Z0-9.:[\]_-]{1,255}$/.test(host)) return "";
	return `${scheme === "https" || isEncrypted(req) ? "https" : "http"}://${host}`;
}

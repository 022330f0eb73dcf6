/**
 * `/openapi.json` and `/docs`: the API about itself, for anybody. Built once, at the first
 * question; only the address differs from one to the next.
 */
import { createHash } from "node:crypto";
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
import type { Route } from "../routes.ts";

/** In the lines of the page where nobody says which: one that the examples have. */
const EXAMPLE_ENDPOINT = "thumbnail";

/** What stands in the page that is built once for what differs. */
const [ADDRESS, ENDPOINT] = ["\u0001address", "\u0001endpoint"] as const;

/** Nothing but this page's own style; the form leads back to it. */
const POLICY = `default-src 'none'; style-src 'sha256-${createHash("sha256").update(DOCS_CSS).digest("base64")}'; img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;

/** The two handlers over a table of routes. */
export function docsApi(
	routes: () => readonly Route[],
): Record<"openapi" | "docs", (call: Call) => void> {
	let built: { rest: string; page: string } | undefined;

	function once(): { rest: string; page: string } {
		if (built) return built;
		const { openapi: _, ...document } = openapiOf(routes(), version);
		const page = docsPage(
			{ openapi: "3.1.1", ...document },
			{ address: ADDRESS, endpoint: ENDPOINT },
		);
		return (built = { rest: JSON.stringify(document).slice(1), page });
	}

	return {
		openapi(call) {
			const { rest } = once();
			json(
				call.res,
				`{"openapi":"3.1.1","servers":${JSON.stringify([{ url: addressOf(call) }])},${rest}`,
				["Vary", "Host"],
			);
		},
		docs(call) {
			const asked = query(call).get("endpoint") ?? EXAMPLE_ENDPOINT;
			const endpoint = check(ENDPOINT_ID, asked).length === 0 ? asked : EXAMPLE_ENDPOINT;
			const text = once()
				.page.replaceAll(ADDRESS, escaped(addressOf(call)))
				.replaceAll(ENDPOINT, endpoint);
			const headers = [
				"Content-Type",
				"text/html; charset=utf-8",
				"Content-Length",
				String(Buffer.byteLength(text)),
				"Content-Security-Policy",
				POLICY,
				"X-Content-Type-Options",
				"nosniff",
				"Referrer-Policy",
				"no-referrer",
				"Vary",
				"Host",
			];
			call.res.writeHead(200, headers);
			call.res.end(text);
		},
	};
}

/** The address under which the caller reached us; behind a proxy, what that says of the scheme. */
function addressOf({ req }: Call): string {
	const { host = "", "x-forwarded-proto": scheme } = req.headers;
	if (!/^[a-zA-Z0-9.:[\]_-]{1,255}$/.test(host)) return "";
	return `${scheme === "https" ? "https" : "http"}://${host}`;
}

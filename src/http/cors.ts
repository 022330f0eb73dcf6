/**
 * Calls from web pages of other origins, on the clients' API only and never with credentials; and
 * `OPTIONS` (D38).
 */
import type { IncomingMessage, ServerResponse } from "node:http";

/** Origins whose pages may call: all, or those listed as `scheme://host[:port]`. */
export type CorsOrigins = "*" | readonly string[];

/** What a page may read of an answer besides its body. */
const EXPOSED =
	"Sluice-Job-Status, Sluice-Next-Offset, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, x-request-id";

/** How long a browser may keep the answer to a preflight, seconds: the most that Chromium takes. */
const MAX_AGE = "7200";

/** Header names separated by commas, as browsers ask for them; SDKs bring names of their own. */
const HEADER_NAMES = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[ \t]*,[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*$/;

/**
 * Sets the headers with which a page of this origin may read the answer, if it may. They stay for
 * whatever the answer will be.
 */
export function allowOrigin(
	res: ServerResponse,
	q: { origin: string; path: string; origins: CorsOrigins },
): void {
	const { origin, path, origins } = q;
	if (!path.startsWith("/v2/") && !path.startsWith("/sdk/v2/")) return;
	if (origins !== "*") res.setHeader("Vary", "Origin");
	if (origins !== "*" && !origins.includes(origin)) return;
	res.setHeader("Access-Control-Allow-Origin", origins === "*" ? "*" : origin);
	res.setHeader("Access-Control-Expose-Headers", EXPOSED);
}

/**
 * Answers `OPTIONS` on a path with these methods: 200 and nothing in it (D1). A page that may read
 * the answer is told what else it may send.
 */
export function answerOptions(
	req: IncomingMessage,
	res: ServerResponse,
	methods: Iterable<string>,
): void {
	const possible = [...methods].join(", ");
	const { "access-control-request-method": wanted, "access-control-request-headers": names } =
		req.headers;
	if (wanted !== undefined && res.hasHeader("Access-Control-Allow-Origin")) {
		res.setHeader("Access-Control-Allow-Methods", possible);
		if (names !== undefined && HEADER_NAMES.test(names))
			res.setHeader("Access-Control-Allow-Headers", names);
		res.setHeader("Access-Control-Max-Age", MAX_AGE);
	}
	res.writeHead(200, { Allow: `${possible}, OPTIONS`, "Content-Length": "0" });
	res.end();
}

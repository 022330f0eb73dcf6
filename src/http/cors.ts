/** CORS for the clients' API, without credentials; and `OPTIONS` (D38). */
import type { IncomingMessage, ServerResponse } from "node:http";

/** Origins whose pages may call: all, or a list of `scheme://host[:port]`. */
export type CorsOrigins = "*" | readonly string[];

/** Headers of an answer that a page may read. */
const EXPOSED = [
	"Sluice-Job-Status",
	"Sluice-Next-Offset",
	"Retry-After",
	"RateLimit-Limit",
	"RateLimit-Remaining",
	"RateLimit-Reset",
	"x-request-id",
].join(", ");

/** How long browsers may cache a preflight, seconds: the maximum of Chromium. */
const MAX_AGE = "7200";

/** Header names separated by commas. All are allowed: SDKs send their own. */
const HEADER_NAMES = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[ \t]*,[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*$/;

/** Sets the headers that let a page of this origin read the answer, errors included. */
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

/** Answers `OPTIONS` on a path with these methods: 200 without a body (D1). */
export function answerOptions(
	req: IncomingMessage,
	res: ServerResponse,
	methods: Iterable<string>,
): void {
	const allowed = [...methods].join(", ");
	const { "access-control-request-method": preflight, "access-control-request-headers": names } =
		req.headers;
	if (preflight !== undefined && res.hasHeader("Access-Control-Allow-Origin")) {
		res.setHeader("Access-Control-Allow-Methods", allowed);
		if (names !== undefined && HEADER_NAMES.test(names))
			res.setHeader("Access-Control-Allow-Headers", names);
		res.setHeader("Access-Control-Max-Age", MAX_AGE);
	}
	res.writeHead(200, { Allow: `${allowed}, OPTIONS`, "Content-Length": "0" });
	res.end();
}

/** CORS for the client API, without credentials, and `OPTIONS` (D38). */
import type { IncomingMessage, ServerResponse } from "node:http";

/** All origins, or a list of `scheme://host[:port]`. */
export type CorsOrigins = "*" | readonly string[];

const EXPOSED = [
	"Sluice-Ignored",
	"Sluice-Job-Status",
	"Sluice-Next-Offset",
	"Retry-After",
	"RateLimit-Limit",
	"RateLimit-Remaining",
	"RateLimit-Reset",
	"x-request-id",
	"ETag",
].join(", ");

/** Cache time of a preflight, s, the maximum of Chromium. */
const MAX_AGE = "7200";

/** Comma-separated header names. All are allowed, because SDKs send their own. */
const HEADER_NAMES = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+(?:[ \t]*,[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+)*$/;

/** Paths whose credentials are in the request: a browser adds none. */
const OPEN = /^\/(?:(?:sdk\/)?v2|s3)\//;

export function allowOrigin(res: ServerResponse, q: { origin: string; path: string; origins: CorsOrigins }): void {
	const { origin, path, origins } = q;
	if (!OPEN.test(path)) return;
	if (origins !== "*") res.setHeader("Vary", "Origin");
	if (origins !== "*" && !origins.includes(origin)) return;
	res.setHeader("Access-Control-Allow-Origin", origins === "*" ? "*" : origin);
	res.setHeader("Access-Control-Expose-Headers", EXPOSED);
}

/** Answers `OPTIONS`: 200 without a body (D1). */
export function answerOptions(req: IncomingMessage, res: ServerResponse, methods: Iterable<string>): void {
	const allowed = [...methods].join(", ");
	const { "access-control-request-method": preflight, "access-control-request-headers": names } = req.headers;
	if (preflight !== undefined && res.hasHeader("Access-Control-Allow-Origin")) {
		res.setHeader("Access-Control-Allow-Methods", allowed);
		if (names !== undefined && HEADER_NAMES.test(names)) res.setHeader("Access-Control-Allow-Headers", names);
		res.setHeader("Access-Control-Max-Age", MAX_AGE);
	}
	res.writeHead(200, { Allow: `${allowed}, OPTIONS`, "Content-Length": "0" });
	res.end();
}

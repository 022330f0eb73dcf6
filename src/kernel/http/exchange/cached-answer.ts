/**
 * Sends cacheable answers in the best accepted coding, or 304. They need no key, so their time is charged to the
 * address (D41).
 */
import { ApiError } from "../../core/errors.ts";
import { networkOf } from "../../core/access/network.ts";
import { weightOf, weightsIn } from "./accept.ts";
import type { Call } from "./call.ts";

export type Coding = "br" | "gzip";

export interface Cacheable {
	/** ETag of the uncompressed content, unquoted. */
	tag: string;
	pieces: readonly Buffer[];
	packed: ReadonlyMap<Coding, Buffer>;
}

/** Time of the event loop that a sent byte costs, ms. */
const SEND_MS_PER_BYTE = 0.5 / 2 ** 20;

/**
 * Sends a cacheable answer. `vary`: request headers that the content depends on, besides the coding. Node omits the
 * body for HEAD.
 */
export async function sendCacheable(
	call: Call,
	{ tag, pieces, packed }: Cacheable,
	{ headers, vary = [] }: { headers: readonly string[]; vary?: readonly string[] },
): Promise<void> {
	const { req, res, caller } = call;
	const { "accept-encoding": accepted = "", "if-none-match": has = "" } = req.headers;
	const coding = codingFor(accepted, packed);
	const etag = `"${tag}${coding === undefined ? "" : `-${coding}`}"`;
	const depends = packed.size > 0 ? [...vary, "Accept-Encoding"] : vary;
	const kept = ["ETag", etag, ...headers, ...(depends.length > 0 ? ["Vary", depends.join(", ")] : [])];
	const isKnown = has.split(",").some((each) => each.trim().replace(/^W\//, "") === etag);
	const body = coding === undefined ? pieces : [packed.get(coding)!];
	const size = body.reduce((sum, piece) => sum + piece.length, 0);
	const owner = `files to ${networkOf(req.socket)}`;
	const mayAnswer = await call.service.pace.spend(owner, isKnown ? 0 : size * SEND_MS_PER_BYTE, caller);
	if (caller.disconnected) return;
	if (!mayAnswer) throw new ApiError("documents_busy");
	if (isKnown) {
		res.writeHead(304, kept);
		res.end();
		return;
	}
	res.writeHead(200, [
		...kept,
		"Content-Length",
		String(size),
		...(coding === undefined ? [] : ["Content-Encoding", coding]),
	]);
	for (const piece of body) res.write(piece);
	res.end();
}

/** Returns the smallest of the codings with the highest weight. */
function codingFor(accepted: string, packed: Cacheable["packed"]): Coding | undefined {
	const weights = weightsIn(accepted);
	const [best] = (["br", "gzip"] as const)
		.filter((each) => packed.has(each) && weightOf(weights, each) > 0)
		.toSorted((a, b) => weightOf(weights, b) - weightOf(weights, a));
	return best;
}

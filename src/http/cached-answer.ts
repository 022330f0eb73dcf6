/** Answers that clients may keep: in the best accepted coding; 304 if the client has them. */
import type { Call } from "./call.ts";

export type Coding = "br" | "gzip";

export interface Cacheable {
	/** ETag of the uncompressed content, unquoted. */
	tag: string;
	/** In order. */
	pieces: readonly Buffer[];
	/** Compressed copies. */
	packed: ReadonlyMap<Coding, Buffer>;
}

/** `vary`: what the content depends on besides the coding. Node omits the body for HEAD. */
export function sendCacheable(
	{ req, res }: Call,
	{ tag, pieces, packed }: Cacheable,
	{ headers, vary = [] }: { headers: readonly string[]; vary?: readonly string[] },
): void {
	const { "accept-encoding": accepted = "", "if-none-match": has = "" } = req.headers;
	const coding = (["br", "gzip"] as const).find(
		(each) => packed.has(each) && takes(accepted, each),
	);
	const etag = `"${tag}${coding === undefined ? "" : `-${coding}`}"`;
	const depends = packed.size > 0 ? [...vary, "Accept-Encoding"] : vary;
	const kept = [
		"ETag",
		etag,
		...headers,
		...(depends.length > 0 ? ["Vary", depends.join(", ")] : []),
	];
	if (has.split(",").some((each) => each.trim().replace(/^W\//, "") === etag)) {
		res.writeHead(304, kept);
		res.end();
		return;
	}
	const body = coding === undefined ? pieces : [packed.get(coding)!];
	const size = body.reduce((sum, piece) => sum + piece.length, 0);
	res.writeHead(200, [
		...kept,
		"Content-Length",
		String(size),
		...(coding === undefined ? [] : ["Content-Encoding", coding]),
	]);
	for (const piece of body) res.write(piece);
	res.end();
}

/** Whether `Accept-Encoding` lists the coding with a weight above 0. */
function takes(accepted: string, coding: Coding): boolean {
	return accepted.split(",").some((each) => {
		const [name = "", ...weights] = each.split(";").map((part) => part.trim().toLowerCase());
		return name === coding && !weights.some((weight) => /^q=0(?:\.0*)?$/.test(weight));
	});
}

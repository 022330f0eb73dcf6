/** Answers of files: headers, codings, and what is sent where a file is missing. */
import { ApiError } from "../../kernel/core/errors.ts";
import { networkOf } from "../../kernel/core/access/network.ts";
import { weightOf, weightsIn } from "../../kernel/http/exchange/accept.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";
import type { BundleFile } from "./bundle.ts";

type Coding = "br" | "gzip";

interface Cacheable {
	/** ETag of the uncompressed content, unquoted. */
	tag: string;
	pieces: readonly Buffer[];
	packed: ReadonlyMap<Coding, Buffer>;
}

/** Time of the event loop that a sent byte costs, ms. */
const SEND_MS_PER_BYTE = 0.5 / 2 ** 20;

/**
 * Sends a cacheable answer in the best accepted coding, or 304. Callers need no key, so the address pays for the time
 * (D41). `vary`: request headers that the content depends on, besides the coding. Node omits the body for HEAD.
 */
async function sendCacheable(
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

export const INDEX = "index.html";

function securityHeaders(policy: string): string[] {
	return ["Content-Security-Policy", policy, "X-Content-Type-Options", "nosniff", "Referrer-Policy", "no-referrer"];
}

export async function sendFile(
	call: Call,
	{ type, tag, hashed, bytes, packed }: BundleFile,
	policy: string,
): Promise<void> {
	await sendCacheable(
		call,
		{ tag, pieces: [bytes], packed },
		{
			headers: [
				"Content-Type",
				type,
				"Cache-Control",
				hashed ? "public, max-age=31536000, immutable" : "no-cache",
				...securityHeaders(policy),
			],
		},
	);
}

/** `more` is HTML. Node omits the body for HEAD. */
export function sendNotBuilt(
	{ res }: Call,
	{ title, command, more = "" }: { title: string; command: string; more?: string },
	policy: string,
): void {
	const page = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sluice</title><h1>${title}</h1>
<p>Run <code>${command}</code> in the folder of the service, then load this page again.</p>${more}</html>
`;
	res.writeHead(200, [
		"Content-Type",
		"text/html; charset=utf-8",
		"Content-Length",
		String(Buffer.byteLength(page)),
		...securityHeaders(policy),
		"Cache-Control",
		"no-store",
	]);
	res.end(page);
}

export function noFile({ req, path }: Call): ApiError {
	return new ApiError("path_not_found", { method: req.method ?? "", path: path.slice(0, 200) });
}

/** Relative, because a proxy may remove a path. */
export function redirect({ res }: Call, to: string): void {
	res.writeHead(303, [
		"Location",
		to,
		"Content-Length",
		"0",
		"Cache-Control",
		"no-store",
		"Referrer-Policy",
		"no-referrer",
	]);
	res.end();
}

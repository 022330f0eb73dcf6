import { ApiError } from "../../kernel/core/errors.ts";
import type { BundleFile } from "./bundle.ts";
import { sendCacheable } from "../../kernel/http/exchange/cached-answer.ts";
import type { Call } from "../../kernel/http/exchange/call.ts";

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

/** `/console/`: files of the web console, and redirects (D31, D38). */
import { ApiError } from "../../core/errors.ts";
import { sendCacheable } from "../cached-answer.ts";
import type { Call } from "../call.ts";
import type { BundleFile } from "./bundle.ts";

const INDEX = "index.html";

/** Own files only, no inline scripts or styles; result media are data URLs. */
const POLICY = [
	"default-src 'none'",
	"script-src 'self'",
	"style-src 'self'",
	"connect-src 'self'",
	"img-src 'self' data: blob:",
	"media-src 'self' data: blob:",
	"font-src 'self'",
	"frame-ancestors 'none'",
	"base-uri 'none'",
	"form-action 'self'",
].join("; ");

const SECURITY_HEADERS = [
	"Content-Security-Policy",
	POLICY,
	"X-Content-Type-Options",
	"nosniff",
	"Referrer-Policy",
	"no-referrer",
];

/** Shown until the console is built. */
const NOT_BUILT = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sluice</title><h1>The console is not built</h1>
<p>Run <code>npm run build</code> in the folder of the service, then load this page again.</p></html>
`;

/** GET /console/. */
export async function page(call: Call): Promise<void> {
	const found = (await call.bundle.files())?.get(INDEX);
	if (found) await sendFile(call, found);
	else
		send(call, { type: "text/html; charset=utf-8", bytes: Buffer.from(NOT_BUILT) }, [
			"Cache-Control",
			"no-store",
		]);
}

/** GET below /console/: a file; paths without a dot redirect to the page. */
export async function file(call: Call): Promise<void> {
	const { path, params } = call;
	const found = (await call.bundle.files())?.get(params.rest);
	if (found) return await sendFile(call, found);
	if (params.rest.includes("."))
		throw new ApiError("path_not_found", {
			method: call.req.method ?? "",
			path: path.slice(0, 200),
		});
	redirect(call, "../".repeat(path.split("/").length - 3) || "./");
}

/** GET /console: adds the slash, since addresses in the page are relative. */
export function folder(call: Call): void {
	redirect(call, "console/");
}

/** GET /: to the console for browsers, else 404. */
export function root(call: Call): void {
	if (!/\btext\/html\b/.test(call.req.headers.accept ?? ""))
		throw new ApiError("path_not_found", { method: call.req.method ?? "", path: "/" });
	redirect(call, "console/");
}

/** Relative, so that it works behind a proxy. */
function redirect({ res }: Call, to: string): void {
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

async function sendFile(
	call: Call,
	{ type, tag, hashed, bytes, packed }: BundleFile,
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
				...SECURITY_HEADERS,
			],
		},
	);
}

/** Node omits the body for HEAD. */
function send(
	{ res }: Call,
	{ type, bytes }: { type: string; bytes: Buffer },
	headers: readonly string[],
): void {
	res.writeHead(200, [
		"Content-Type",
		type,
		"Content-Length",
		String(bytes.length),
		...SECURITY_HEADERS,
		...headers,
	]);
	res.end(bytes);
}

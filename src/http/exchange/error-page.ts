/** An error as a page for a browser (D2). */
import type { IncomingMessage, ServerResponse } from "node:http";
import type { ApiError } from "../../core/errors.ts";
import { html } from "./html.ts";

const CSS = `
:root{color-scheme:light dark}
body{max-width:42rem;margin:12vh auto;padding:0 1.25rem;font:16px/1.6 system-ui,sans-serif}
h1{font-size:1.4rem;line-height:1.3}
p{overflow-wrap:anywhere}
`;

const POLICY =
	"default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** Browsers name `text/html` when they show a page. */
export function wantsPage({ method, headers }: IncomingMessage): boolean {
	return method === "GET" && /\btext\/html\b/.test(headers.accept ?? "");
}

export function sendErrorPage(
	res: ServerResponse,
	{ status, code, message }: ApiError,
	headers: readonly string[],
): void {
	const path = (res.req.url ?? "/").split("?", 1)[0]!;
	// Relative, because a proxy may remove a path.
	const base = "../".repeat(Math.max(0, path.split("/").length - 2));
	const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${status}: ${code}</title>
<style>${{ html: CSS }}</style>
</head>
<body>
<main>
<h1>${message}</h1>
<p>Status ${status}, code <code>${code}</code></p>
<p><a href="${base || "./"}console/">Open the console</a> · <a href="${base || "./"}docs/">Documentation</a></p>
</main>
</body>
</html>
`.html;
	res.writeHead(status, [
		"Content-Type",
		"text/html; charset=utf-8",
		"Content-Length",
		String(Buffer.byteLength(page)),
		"Content-Security-Policy",
		POLICY,
		"X-Content-Type-Options",
		"nosniff",
		"Referrer-Policy",
		"no-referrer",
		"Cache-Control",
		"no-store",
		...headers,
	]);
	res.end(page);
}

/** Origin of a browser's request (D31). Reads the browser's headers, never those of a proxy. */
import type { IncomingMessage } from "node:http";
import type { Call } from "../../kernel/http/exchange/call.ts";
import { isEncrypted } from "../../kernel/http/server/tls.ts";

const HOST = /^[a-zA-Z0-9.:[\]_-]{1,255}$/;

interface CookieScope {
	path: string;
	secure: boolean;
}

export type Source = "own" | "foreign" | "unknown";

/** Own is the origin of `Host` or of `publicUrl`, since a proxy may change `Host`. */
export function sourceOf({ req, service: { publicUrl } }: Pick<Call, "req" | "service">): Source {
	const { origin, "sec-fetch-site": site } = req.headers;
	// Other ports and schemes of this host are `same-site` and send cookies.
	if (site !== undefined && site !== "same-origin" && site !== "none") return "foreign";
	if (origin !== undefined) return isOwn(origin, req, publicUrl) ? "own" : "foreign";
	return site === "same-origin" ? "own" : "unknown";
}

/** The path of `publicUrl` if the request used it, else the whole host. `Secure` if the page was loaded by https. */
export function placeOf({ req, service: { publicUrl } }: Pick<Call, "req" | "service">): CookieScope {
	const { origin, host } = req.headers;
	const byPublic =
		publicUrl !== undefined && (origin === undefined ? host === publicUrl.host : origin === publicUrl.origin);
	const encrypted = isEncrypted(req) || origin?.startsWith("https://") === true;
	if (!byPublic) return { path: "/", secure: encrypted };
	const path = publicUrl.pathname.replace(/(?<!\/)\/+$/, "");
	return {
		path: path === "" || path.includes(";") ? "/" : path,
		secure: publicUrl.protocol === "https:",
	};
}

function isOwn(origin: string, { headers: { host = "" } }: IncomingMessage, publicUrl: URL | undefined): boolean {
	if (!URL.canParse(origin)) return false;
	const page = new URL(origin);
	if (page.origin === publicUrl?.origin) return true;
	// The scheme may be https behind a TLS proxy. `URL` drops default ports.
	return (
		/^https?:$/.test(page.protocol) &&
		HOST.test(host) &&
		URL.canParse(`${page.protocol}//${host}`) &&
		new URL(`${page.protocol}//${host}`).host === page.host
	);
}

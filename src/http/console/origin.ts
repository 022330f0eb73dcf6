/**
 * Which page a browser's request comes from (D31): a cookie is valid only for pages of this
 * service. Only headers of the browser are read, never those of a proxy.
 */
import type { IncomingMessage } from "node:http";
import type { SignInOrigin } from "../../engine/access/sessions.ts";
import type { Call } from "../call.ts";

const HOST = /^[a-zA-Z0-9.:[\]_-]{1,255}$/;

/** A page of this service, a page of another origin, or no page that the headers name. */
export type Source = "own" | "foreign" | "unknown";

/** Own are the origin of the request's `Host`, and that of `publicUrl`: a proxy may change `Host`. */
export function sourceOf({ req, publicUrl }: Pick<Call, "req" | "publicUrl">): Source {
	const { origin, "sec-fetch-site": site } = req.headers;
	// A page on another port or scheme of this host is `same-site`, and its requests have cookies.
	if (site !== undefined && site !== "same-origin" && site !== "none") return "foreign";
	if (origin !== undefined) return isOwn(origin, req, publicUrl) ? "own" : "foreign";
	return site === "same-origin" ? "own" : "unknown";
}

/**
 * Where a cookie set by this answer is valid: under the path of `publicUrl` if the request used it,
 * else on the whole host; `Secure` if the page was loaded by https.
 */
export function placeOf({ req, publicUrl }: Pick<Call, "req" | "publicUrl">): SignInOrigin {
	const { origin, host } = req.headers;
	const byPublic =
		publicUrl !== undefined &&
		(origin === undefined ? host === publicUrl.host : origin === publicUrl.origin);
	if (!byPublic) return { path: "/", secure: origin?.startsWith("https://") === true };
	const path = publicUrl.pathname.replace(/\/+$/, "");
	return {
		path: path === "" || path.includes(";") ? "/" : path,
		secure: publicUrl.protocol === "https:",
	};
}

function isOwn(
	origin: string,
	{ headers: { host = "" } }: IncomingMessage,
	publicUrl: URL | undefined,
): boolean {
	if (!URL.canParse(origin)) return false;
	const page = new URL(origin);
	if (page.origin === publicUrl?.origin) return true;
	// The scheme may be https behind a proxy that ends TLS. Default ports equal none.
	return (
		/^https?:$/.test(page.protocol) &&
		HOST.test(host) &&
		URL.canParse(`${page.protocol}//${host}`) &&
		new URL(`${page.protocol}//${host}`).host === page.host
	);
}

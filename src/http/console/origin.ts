/**
 * Where a request of a browser comes from (D31): a cookie counts only for pages of this very
 * service. What the browser says of itself is looked at, never what a proxy adds.
 */
import type { IncomingMessage } from "node:http";
import type { SignInOrigin } from "../../engine/access/sessions.ts";
import type { Call } from "../call.ts";

const HOST = /^[a-zA-Z0-9.:[\]_-]{1,255}$/;

/**
 * `own`: a page of this service. `foreign`: a page of another origin. `untold`: no page, or a
 * browser that does not say.
 */
export type Source = "own" | "foreign" | "untold";

/**
 * Who sent the request. Own are the origin with the request's `Host`, and that of `publicUrl`, for
 * a proxy that changes the `Host`.
 */
export function sourceOf({ req, publicUrl }: Pick<Call, "req" | "publicUrl">): Source {
	const { origin, "sec-fetch-site": site } = req.headers;
	// A page on another port or scheme of this host is `same-site`, and gets cookies with its
	// requests.
	if (site !== undefined && site !== "same-origin" && site !== "none") return "foreign";
	if (origin !== undefined) return isOwn(origin, req, publicUrl) ? "own" : "foreign";
	return site === "same-origin" ? "own" : "untold";
}

/**
 * Where a cookie set by this answer shall count: the path of `publicUrl` for those who came by it,
 * the whole host otherwise; `Secure` when the page itself was loaded by https.
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
	// Its scheme may be https: a proxy that ends TLS and passes Host on. A port that the scheme
	// implies is the same as none.
	return (
		/^https?:$/.test(page.protocol) &&
		HOST.test(host) &&
		URL.canParse(`${page.protocol}//${host}`) &&
		new URL(`${page.protocol}//${host}`).host === page.host
	);
}

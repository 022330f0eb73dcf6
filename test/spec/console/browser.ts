/**
 * What a browser does for a page of the console: keeps the cookie, says where requests come from.
 * Bytes by hand, since Node's fetch does neither.
 */
import { expect } from "vitest";
import { KEY } from "../../support/service.ts";
import { type RawAnswer, rawConnection, requestText } from "../raw-http.ts";

/** A cookie as an answer sets it: its value and its attributes. */
export interface SetCookie {
	name: string;
	value: string;
	/** By name, in lower case; flags are "". */
	attributes: Record<string, string>;
}

/** A request of a page. `undefined` for a header leaves it out. */
export interface Sent {
	method?: string;
	body?: unknown;
	/** The body as it is. */
	text?: string;
	headers?: Record<string, string | undefined>;
	/** The answer is a stream: only its head is read. */
	streams?: boolean;
}

/** A browser with one page of the service open. */
export interface Browser {
	/** Origin of the service. */
	origin: string;
	/** The `Cookie` header as it would be sent. */
	cookie: string | undefined;
	/** What the page of the console keeps of its sign-in. */
	pageToken: string | undefined;
	/**
	 * A request of the service's own page: with cookie and page token, `Origin` for what is no GET, and
	 * `Sec-Fetch-Site`.
	 */
	send(path: string, q?: Sent): Promise<RawAnswer>;
	/** Signs in with a key. */
	signIn(key?: string): Promise<RawAnswer>;
	/** Opens a sign-in link, as the page of the console does. */
	open(link: string, q?: Pick<Sent, "headers">): Promise<RawAnswer>;
}

/** The cookie that an answer sets, undefined if none. */
export function cookieOf({ headers }: RawAnswer): SetCookie | undefined {
	const [pair, ...attributes] = headers["set-cookie"]?.split("; ") ?? [];
	if (pair === undefined) return undefined;
	const [name = "", value = ""] = pair.split("=");
	return {
		name,
		value,
		attributes: Object.fromEntries(
			attributes.map((each) => [each.split("=")[0]!.toLowerCase(), each.split("=")[1] ?? ""]),
		),
	};
}

/** Opens one. */
export function browser({ url }: { url: string }): Browser {
	const { host, origin } = new URL(url);
	const page: Browser = {
		origin,
		cookie: undefined,
		pageToken: undefined,
		async send(
			path,
			{
				method = "GET",
				body,
				text = body === undefined ? undefined : JSON.stringify(body),
				headers = {},
				streams = false,
			} = {},
		) {
			const own = {
				Host: host,
				"Sec-Fetch-Site": "same-origin",
				...(method === "GET" || method === "HEAD" ? {} : { Origin: origin }),
				...(page.cookie === undefined ? {} : { Cookie: page.cookie }),
				...(page.pageToken === undefined ? {} : { "Sluice-Page-Token": page.pageToken }),
			};
			const sent = Object.entries({ ...own, ...headers }).filter(
				(each): each is [string, string] => each[1] !== undefined,
			);
			const connection = await rawConnection(url);
			connection.write(
				requestText({
					method,
					path,
					headers: Object.fromEntries(sent),
					...(text === undefined ? {} : { body: text }),
				}),
			);
			const answer = await connection.answer({ head: method === "HEAD" || streams });
			connection.socket.destroy();
			const set = cookieOf(answer);
			if (set) page.cookie = set.attributes["max-age"] === "0" ? undefined : `${set.name}=${set.value}`;
			if (method === "POST" && path === "/console/session" && answer.status === 200)
				page.pageToken = JSON.parse(answer.text).pageToken;
			return answer;
		},
		async signIn(key = KEY) {
			const answer = await page.send("/console/session", { method: "POST", body: { key } });
			expect(answer.status, answer.text).toBe(200);
			return answer;
		},
		open: (link, q) =>
			page.send("/console/session", {
				...q,
				method: "POST",
				body: { link: link.split("#/link/")[1] },
			}),
	};
	return page;
}

/**
 * Sessions of the console (D31): who signed in with a key goes on with a token in a cookie. The
 * token is signed and nothing is stored, so that each server under the same secret takes it; what
 * it allows is asked of the key at each use.
 */
import { createHmac, hkdfSync, timingSafeEqual } from "node:crypto";
import type { KeyStoreAccess, Principal } from "./keys.ts";

/** How long a session lasts after its last use, ms. */
export const SESSION_MS = 12 * 3_600_000;

/** How long it lasts at most, however much it is used, ms. */
export const SESSION_MOST_MS = 7 * 86_400_000;

/** Age from which a use makes a new token, ms. */
const RENEW_MS = 600_000;

/** Form of what a token holds; one of another form is none. */
const VERSION = 1;

/** Longer texts are no tokens. */
const LONGEST = 2048;

/**
 * Where a cookie with the token counts: kept in it, so that a renewed cookie takes the place of the
 * first.
 */
export interface SignInOrigin {
	/** Path of the service as the browser sees it. */
	path: string;
	/** Only by https. */
	secure: boolean;
}

/** A session as it is kept in a cookie; `until` is ms since the epoch. */
export interface Session {
	token: string;
	until: number;
	place: SignInOrigin;
}

/** Begins sessions and knows them again. */
export interface Sessions {
	/**
	 * Name of the cookie: each service has its own, since cookies of one host reach all its ports.
	 */
	readonly cookie: string;
	/** A session of the holder of a key; undefined when the key has ended. */
	begin(q: { keyId: string; place: SignInOrigin }): Promise<Session | undefined>;
	/**
	 * The caller, as its key has it now; `renewed` when the session is to go on as that one.
	 * Undefined for a token that is not ours, is over, or whose key has ended.
	 */
	resume(
		token: string,
	): Promise<
		{ principal: Principal; place: SignInOrigin; renewed?: Session | undefined } | undefined
	>;
}

/**
 * What a token holds: key, sign-in and end (ms since the epoch), place, and the mark of the key,
 * since that of the environment may change under its id.
 */
interface Held {
	v: number;
	key: string;
	mark: string;
	since: number;
	until: number;
	path: string;
	secure: boolean;
}

/** Sessions under the key for secrets at rest, 32 bytes. */
export function sessions(d: {
	keys: Pick<KeyStoreAccess, "holder">;
	sealKey: Uint8Array;
	now: () => number;
}): Sessions {
	const derived = (purpose: string, bytes: number): Buffer =>
		Buffer.from(hkdfSync("sha256", d.sealKey, "", purpose, bytes));
	const signing = derived("console session", 32);
	const sign = (text: string): string =>
		createHmac("sha256", signing).update(text).digest("base64url");
	const markOf = (hash: Uint8Array): string =>
		createHmac("sha256", signing).update("key").update(hash).digest("base64url").slice(0, 22);

	function sessionOf(held: Omit<Held, "v" | "until">): Session {
		const until = Math.min(d.now() + SESSION_MS, held.since + SESSION_MOST_MS);
		const body = Buffer.from(
			JSON.stringify({ v: VERSION, ...held, until } satisfies Held),
		).toString("base64url");
		return {
			token: `${body}.${sign(body)}`,
			until,
			place: { path: held.path, secure: held.secure },
		};
	}

	/** What the token holds, once its signature is found to be ours. */
	function opened(token: string): Held | undefined {
		if (token.length > LONGEST) return undefined;
		const [body = "", signature = "", ...more] = token.split(".");
		if (more.length > 0 || !equal(signature, sign(body))) return undefined;
		const held = JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as Held;
		return held.v === VERSION ? held : undefined;
	}

	return {
		cookie: `sluice_${derived("console cookie", 4).toString("hex")}`,
		async begin({ keyId, place: { path, secure } }) {
			const holder = await d.keys.holder(keyId);
			return (
				holder && sessionOf({ key: keyId, mark: markOf(holder.hash), since: d.now(), path, secure })
			);
		},
		async resume(token) {
			const held = opened(token);
			if (!held || d.now() >= held.until) return undefined;
			const { key, mark, since, path, secure } = held;
			const holder = await d.keys.holder(key);
			if (!holder || !equal(mark, markOf(holder.hash))) return undefined;
			const due =
				held.until - d.now() <= SESSION_MS - RENEW_MS && held.until < since + SESSION_MOST_MS;
			return {
				principal: holder.principal,
				place: { path, secure },
				...(due && { renewed: sessionOf({ key, mark, since, path, secure }) }),
			};
		},
	};
}

function equal(one: string, other: string): boolean {
	const [a, b] = [Buffer.from(one), Buffer.from(other)];
	return a.length === b.length && timingSafeEqual(a, b);
}

/**
 * Sessions of the console (D31): a signed token in a cookie, which is valid only together with the
 * page token that the console's pages keep: cookies reach all ports of a host, the storage of a page
 * does not. Nothing is stored, so that each server with the same secret accepts it; permissions are
 * read from its key at each use.
 */
import { createHmac, hash, hkdfSync, timingSafeEqual } from "node:crypto";
import type { EpochMs } from "../../core/time.ts";
import type { Random } from "../../ids.ts";
import { hex } from "../../ids.ts";
import type { ApiKeys, Principal } from "./keys.ts";

/** How long a session lasts after its last use, ms. */
export const SESSION_MS = 12 * 3_600_000;

/** How long it lasts at most, ms. */
export const SESSION_MAX_MS = 7 * 86_400_000;

/** Age from which a use renews the token, ms. */
const RENEW_MS = 600_000;

/** Format of a token's content; others are not valid. */
const VERSION = 2;

/** Longest token, characters. */
const MAX_TOKEN = 2048;

const PAGE_TOKEN_BYTES = 24;

/** Scope of the cookie: part of the token, so that a renewed cookie replaces the first. */
export interface SignInOrigin {
	/** Path of the service as the browser sees it. */
	path: string;
	/** Only by https. */
	secure: boolean;
}

/** A session as its cookie has it. */
export interface Session {
	token: string;
	until: EpochMs;
	place: SignInOrigin;
}

export interface Sessions {
	/** Name of the cookie, of each service its own: cookies of one host reach all its ports. */
	readonly cookie: string;
	/** A session of the holder of a key; undefined when the key was revoked. */
	begin(q: {
		keyId: string;
		place: SignInOrigin;
	}): Promise<(Session & { pageToken: string }) | undefined>;
	/**
	 * The caller with the permissions of its key now; `renewed` replaces the session. Undefined for a
	 * token that is not valid or has expired, another page token, or when its key was revoked.
	 */
	resume(
		token: string,
		pageToken: string,
	): Promise<
		{ principal: Principal; place: SignInOrigin; renewed?: Session | undefined } | undefined
	>;
}

/**
 * Content of a token. `mark` is derived from the key's hash: the key of the environment may change
 * under its id.
 */
interface TokenContent {
	v: number;
	key: string;
	mark: string;
	/** SHA-256 of the page token. */
	page: string;
	since: EpochMs;
	until: EpochMs;
	path: string;
	secure: boolean;
}

/** Signed with a key derived from that for stored secrets, 32 bytes. */
export function sessions(d: {
	keys: Pick<ApiKeys, "holder">;
	sealKey: Uint8Array;
	now: () => EpochMs;
	random: Random;
}): Sessions {
	const derived = (purpose: string, bytes: number): Buffer =>
		Buffer.from(hkdfSync("sha256", d.sealKey, "", purpose, bytes));
	const signing = derived("console session", 32);
	const sign = (text: string): string =>
		createHmac("sha256", signing).update(text).digest("base64url");
	const markOf = (hash: Uint8Array): string =>
		createHmac("sha256", signing).update("key").update(hash).digest("base64url").slice(0, 22);

	function sessionOf(content: Omit<TokenContent, "v" | "until">): Session {
		const until = Math.min(d.now() + SESSION_MS, content.since + SESSION_MAX_MS);
		const body = Buffer.from(
			JSON.stringify({ v: VERSION, ...content, until } satisfies TokenContent),
		).toString("base64url");
		return {
			token: `${body}.${sign(body)}`,
			until,
			place: { path: content.path, secure: content.secure },
		};
	}

	/** The content of a token with a valid signature. */
	function contentOf(token: string): TokenContent | undefined {
		if (token.length > MAX_TOKEN) return undefined;
		const [body = "", signature = "", ...more] = token.split(".");
		if (more.length > 0 || !equal(signature, sign(body))) return undefined;
		const content = JSON.parse(Buffer.from(body, "base64url").toString("utf8")) as TokenContent;
		return content.v === VERSION ? content : undefined;
	}

	return {
		cookie: `sluice_${derived("console cookie", 4).toString("hex")}`,
		async begin({ keyId, place: { path, secure } }) {
			const holder = await d.keys.holder(keyId);
			if (!holder) return undefined;
			const pageToken = hex(d.random(PAGE_TOKEN_BYTES));
			const [mark, page] = [markOf(holder.hash), digestOf(pageToken)];
			const session = sessionOf({ key: keyId, mark, page, since: d.now(), path, secure });
			return { ...session, pageToken };
		},
		async resume(token, pageToken) {
			const content = contentOf(token);
			if (!content || d.now() >= content.until) return undefined;
			const { key, mark, page, since, path, secure } = content;
			if (!equal(page, digestOf(pageToken))) return undefined;
			const holder = await d.keys.holder(key);
			if (!holder || !equal(mark, markOf(holder.hash))) return undefined;
			const due =
				content.until - d.now() <= SESSION_MS - RENEW_MS && content.until < since + SESSION_MAX_MS;
			return {
				principal: holder.principal,
				place: { path, secure },
				...(due && { renewed: sessionOf({ key, mark, page, since, path, secure }) }),
			};
		},
	};
}

function digestOf(pageToken: string): string {
	return hash("sha256", pageToken, "base64url");
}

function equal(one: string, other: string): boolean {
	const [a, b] = [Buffer.from(one), Buffer.from(other)];
	return a.length === b.length && timingSafeEqual(a, b);
}

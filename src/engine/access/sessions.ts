/**
 * Sessions of the console (D31): a random token in a cookie, which is valid only together with the
 * page token that the console's pages keep: cookies reach all ports of a host, the storage of a page
 * does not. The store holds the SHA-256 of both; permissions are read from the key at each use.
 */
import { ApiError } from "../../core/errors.ts";
import type { EpochMs } from "../../core/time.ts";
import type { SessionRow, SessionStore } from "../../store/contract/sessions.ts";
import { hex, type Random, uuidv7 } from "../../ids.ts";
import { CredentialCache, digest, equal } from "./credential-cache.ts";
import type { Peer } from "../../core/network.ts";
import type { ApiKeys, KeyHolder } from "./keys.ts";

/** How long a session lasts after its last use, ms. */
export const SESSION_MS = 12 * 3_600_000;

/** How long it lasts at most, ms. */
export const SESSION_MAX_MS = 7 * 86_400_000;

/** Maximum number of sessions of a key: another one ends the one that was unused longest. */
export const MAX_SESSIONS = 100;

const TOKEN_BYTES = 24;

/** A session without its secrets. Times are ms since the epoch. */
export interface SessionView
	extends Pick<SessionRow, "id" | "keyId" | "byLink" | "createdAt" | "lastUsedAt" | "address" | "client"> {
	keyName: string;
	/** When it ends unless it is used before. */
	until: number;
}

/** A session as it begins; only here with its tokens. */
export interface BegunSession {
	id: string;
	token: string;
	pageToken: string;
	/** When it ends however much it is used. */
	until: EpochMs;
}

/** The holder of a session's key, until the session ends. */
export interface ResumedSession extends KeyHolder {
	id: string;
}

export interface Sessions {
	/** Name of the cookie, of each service its own: cookies of one host reach all its ports. */
	readonly cookie: string;
	/** Begins a session of the holder of a key, at most until that key ends. */
	begin(holder: KeyHolder, q: { byLink: boolean; client: string; peer: Peer }): Promise<BegunSession>;
	/**
	 * The caller with the permissions of its key now; `until`: when session or key ends at the latest.
	 * Undefined when the session is unknown or has ended, for another page token, or when its key was
	 * revoked. Without `peer` it is not a use.
	 */
	resume(token: string, pageToken: string, peer?: Peer): Promise<ResumedSession | undefined>;
	/** Those of keys that are valid, last used first. */
	list(): Promise<SessionView[]>;
	/** Its next use is refused, on all servers. Throws `session_not_found`. */
	end(id: string): Promise<void>;
	/** Ends all, or those of one key, but `except`. Returns their number. */
	endAll(q: { keyId?: string | undefined; except?: string | undefined }): Promise<number>;
	/** Another server may have ended some: reads each one from the store again. */
	forgetCached(): void;
}

/** `storeId` names the cookie. `onFault` gets the error when a use could not be recorded. */
export function sessions(d: {
	store: SessionStore;
	keys: Pick<ApiKeys, "holder">;
	storeId: string;
	now: () => EpochMs;
	random: Random;
	/** Whether unknown tokens of this peer must not cost a read of the store each (D41). */
	strained: (peer: Peer) => boolean;
	onFault: (error: unknown) => void;
}): Sessions {
	const cache = new CredentialCache({
		...d,
		entryOf: (row: SessionRow) => ({ ...row, recordedAt: row.lastUsedAt }),
	});

	const endOf = ({ until, lastUsedAt }: SessionRow): number => Math.min(until, lastUsedAt + SESSION_MS);
	const isOver = (row: SessionRow): boolean => d.now() >= endOf(row);

	return {
		cookie: `sluice_${digest(`console cookie ${d.storeId}`).slice(0, 8)}`,
		async begin({ principal: { keyId }, hash: keyHash, until: keyEnd }, q) {
			const now = d.now();
			const [token, pageToken] = [hex(d.random(TOKEN_BYTES)), hex(d.random(TOKEN_BYTES))];
			const row: SessionRow = {
				id: uuidv7(now, d.random),
				hash: digest(token),
				page: digest(pageToken),
				keyId,
				mark: markOf(token, keyHash),
				byLink: q.byLink,
				createdAt: now,
				until: Math.min(now + SESSION_MAX_MS, keyEnd),
				lastUsedAt: now,
				address: q.peer.remoteAddress ?? "",
				client: q.client,
			};
			await d.store.insert({ row, atMost: MAX_SESSIONS, usedSince: now - SESSION_MS, now });
			// The store has removed some.
			cache.forget();
			return { id: row.id, token, pageToken, until: row.until };
		},
		async resume(token, pageToken, peer) {
			let entry = cache.get(token) ?? (await cache.read(token, peer));
			// Its last use may have been at another server.
			if (entry && isOver(entry)) entry = await cache.read(token, peer);
			if (!entry || isOver(entry) || !equal(entry.page, digest(pageToken))) return undefined;
			const holder = await d.keys.holder(entry.keyId, peer);
			if (!holder || !equal(entry.mark, markOf(token, holder.hash))) return undefined;
			if (peer) {
				entry.lastUsedAt = d.now();
				const use = { id: entry.id, now: d.now(), address: peer.remoteAddress ?? "" };
				if (cache.isUseDue(entry)) d.store.used(use).catch(d.onFault);
			}
			return { ...holder, id: entry.id, until: Math.min(holder.until, entry.until) };
		},
		async list() {
			const rows = (await d.store.list()).filter((row) => !isOver(row));
			const names = new Map<string, string | undefined>();
			for (const { keyId } of rows)
				if (!names.has(keyId)) names.set(keyId, (await d.keys.holder(keyId))?.principal.name);
			return rows.flatMap((row) => {
				const keyName = names.get(row.keyId);
				return keyName === undefined ? [] : [{ ...viewOf(row), keyName, until: endOf(row) }];
			});
		},
		async end(id) {
			if (!(await d.store.remove({ id }))) throw new ApiError("session_not_found", { session: id.slice(0, 80) });
			cache.forget();
		},
		async endAll(q) {
			const ended = await d.store.removeAll(q);
			cache.forget();
			return ended;
		},
		forgetCached: () => cache.forget(),
	};
}

function viewOf(row: SessionRow): Omit<SessionView, "keyName" | "until"> {
	const { id, keyId, byLink, createdAt, lastUsedAt, address, client } = row;
	return { id, keyId, byLink, createdAt, lastUsedAt, address, client };
}

/**
 * Binds a session to the value of its key. With the token in it, a reader of the store cannot test
 * guesses of `SLUICE_API_KEY`.
 */
function markOf(token: string, keyHash: string): string {
	return digest(`${token} ${keyHash}`);
}

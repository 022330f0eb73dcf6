/**
 * Sessions of the console (D31): a cookie that is valid only with the token in the page's storage, because cookies
 * reach all ports of a host. The store holds the SHA-256 of both; permissions are read from the key at each use.
 */
import { ApiError } from "../../kernel/core/errors.ts";
import type { EpochMs } from "../../kernel/lib/time.ts";
import type { SessionRow } from "../../kernel/store/contract/access.ts";
import { hex, uuidv7 } from "../../kernel/lib/ids.ts";
import type { EngineContext } from "../../kernel/engine/context.ts";
import { type CachedCredentials, CredentialCache, digest, equal } from "../../kernel/engine/access/credential-cache.ts";
import type { Failures } from "../../kernel/engine/access/failures.ts";
import type { Peer } from "../../kernel/core/access/network.ts";
import type { ApiKeys, KeyHolder } from "../../kernel/engine/access/keys.ts";
import { ERRORS } from "./errors.ts";

/** Lifetime after the last use. */
export const SESSION_MS = 12 * 3_600_000;

/** Lifetime however much it is used. */
export const SESSION_MAX_MS = 7 * 86_400_000;

/** Another session of the key ends the one that was unused longest. */
export const MAX_SESSIONS = 100;

const TOKEN_BYTES = 24;

/** A session without its secrets. Times are ms since the epoch. */
export interface SessionView
	extends Pick<SessionRow, "id" | "keyId" | "byLink" | "createdAt" | "lastUsedAt" | "address" | "client"> {
	keyName: string;
	/** End unless it is used before. */
	until: number;
}

/** A session as it begins; only here with its tokens. */
export interface BegunSession {
	id: string;
	token: string;
	pageToken: string;
	/** End however much it is used. */
	until: EpochMs;
}

export type Sessions = ReturnType<typeof createSessions>;

export function createSessions({
	store: { sessions: store },
	now,
	random,
	background,
	...d
}: EngineContext & Pick<Failures, "strained"> & { keys: ApiKeys; storeId: string }) {
	const cache = new CredentialCache({
		store,
		now,
		strained: d.strained,
		entryOf: (row: SessionRow) => ({ ...row, recordedAt: row.lastUsedAt }),
	});

	const endOf = ({ until, lastUsedAt }: SessionRow): number => Math.min(until, lastUsedAt + SESSION_MS);
	const isOver = (row: SessionRow): boolean => now() >= endOf(row);

	return {
		/** Each service has its own name, because cookies of one host reach all its ports. */
		cookie: `sluice_${digest(`console cookie ${d.storeId}`).slice(0, 8)}`,
		async begin(
			{ principal: { keyId }, hash: keyHash, until: keyEnd }: KeyHolder,
			{ byLink, client, peer }: { byLink: boolean; client: string; peer: Peer },
		): Promise<BegunSession> {
			const at = now();
			const [token, pageToken] = [hex(random(TOKEN_BYTES)), hex(random(TOKEN_BYTES))];
			const row: SessionRow = {
				id: uuidv7(at, random),
				hash: digest(token),
				page: digest(pageToken),
				keyId,
				mark: markOf(token, keyHash),
				byLink,
				createdAt: at,
				until: Math.min(at + SESSION_MAX_MS, keyEnd),
				lastUsedAt: at,
				address: peer.remoteAddress ?? "",
				client,
			};
			await store.insert({ row, atMost: MAX_SESSIONS, usedSince: at - SESSION_MS, now: at });
			// The insert may have removed sessions beyond the maximum.
			cache.forget();
			return { id: row.id, token, pageToken, until: row.until };
		},
		/**
		 * Returns the caller and, as `until`, the end of session or key. Undefined for another page token, or when session
		 * or key have ended. With `peer` it is a use, unless `isUse` is false.
		 */
		async resume(
			token: string,
			pageToken: string,
			peer?: Peer,
			isUse = true,
		): Promise<(KeyHolder & { id: string }) | undefined> {
			let entry = cache.get(token) ?? (await cache.read(token, peer));
			// Its last use may have been at another server.
			if (entry && isOver(entry)) entry = await cache.read(token, peer);
			if (!entry || isOver(entry) || !equal(entry.page, digest(pageToken))) return undefined;
			const holder = await d.keys.holder(entry.keyId, isUse ? peer : undefined);
			if (!holder || !equal(entry.mark, markOf(token, holder.hash))) return undefined;
			if (peer && isUse) {
				entry.lastUsedAt = now();
				const use = { id: entry.id, now: now(), address: peer.remoteAddress ?? "" };
				if (cache.isUseDue(entry)) background.run("recording the use of a session", store.used(use));
			}
			return { ...holder, id: entry.id, until: Math.min(holder.until, entry.until) };
		},
		async list(): Promise<SessionView[]> {
			const rows = (await store.list()).filter((row) => !isOver(row));
			const names = new Map<string, string | undefined>();
			for (const { keyId } of rows)
				if (!names.has(keyId)) names.set(keyId, (await d.keys.holder(keyId))?.principal.name);
			return rows.flatMap((row) => {
				const keyName = names.get(row.keyId);
				return keyName === undefined ? [] : [{ ...viewOf(row), keyName, until: endOf(row) }];
			});
		},
		/** Ends it on all servers. Throws `session_not_found`. */
		async end(id: string): Promise<void> {
			if (!(await store.remove({ id }))) throw new ApiError(ERRORS.session_not_found, { session: id.slice(0, 80) });
			cache.forget();
		},
		async endAll(q: Parameters<typeof store.removeAll>[0]): Promise<number> {
			const ended = await store.removeAll(q);
			cache.forget();
			return ended;
		},
		cached: cache as CachedCredentials,
	};
}

function viewOf(row: SessionRow): Omit<SessionView, "keyName" | "until"> {
	const { id, keyId, byLink, createdAt, lastUsedAt, address, client } = row;
	return { id, keyId, byLink, createdAt, lastUsedAt, address, client };
}

/**
 * Binds a session to the value of its key. With the token in it, a reader of the store cannot test guesses of
 * `SLUICE_API_KEY`.
 */
function markOf(token: string, keyHash: string): string {
	return digest(`${token} ${keyHash}`);
}

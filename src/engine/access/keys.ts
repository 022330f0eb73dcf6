/**
 * API keys (D30): who may do what. The key of the environment is an admin key; the store holds the
 * SHA-256 of the others.
 */
import { ApiError } from "../../core/errors.ts";
import type { Scope } from "../../core/key-request.ts";
import type { EpochMs } from "../../core/time.ts";
import type { KeyRow, KeyStore } from "../../store/contract/keys.ts";
import { hex, type Random, uuidv7 } from "../../ids.ts";
import { CredentialCache, digest, equal } from "./credential-cache.ts";
import type { Peer } from "../../core/network.ts";

const KEY_BYTES = 24;

/** A caller, identified by its key. */
export interface Principal {
	keyId: string;
	/** Name of its key. */
	name: string;
	scopes: readonly Scope[];
	/** Endpoints it may use; absent: all. */
	endpoints?: readonly string[] | undefined;
}

/** A key without its hash. Times are ms since the epoch. */
export type KeyView = Omit<KeyRow, "hash" | "previous"> & {
	/** Until when the key before the last rotation is valid. */
	previousUntil?: number | undefined;
};

/** A caller with the SHA-256 of its key, in hex. */
export interface KeyHolder {
	principal: Principal;
	hash: string;
	/** When the key ends; Infinity: never. */
	until: EpochMs;
}

export interface ApiKeys {
	/** The caller with this key, or undefined. */
	identify(key: string, peer: Peer): Promise<Principal | undefined>;
	/**
	 * The holder of this key, or undefined; `until` is that of the key before a rotation, too. With
	 * `peer` it is a use of the key.
	 */
	signIn(key: string, peer?: Peer): Promise<KeyHolder | undefined>;
	/**
	 * The caller whose key has this id, undefined when it was revoked; for sessions. With `peer` it is
	 * a use of the key.
	 */
	holder(id: string, peer?: Peer): Promise<KeyHolder | undefined>;
	/** Id of the key of the environment, else of the oldest admin key; undefined without any. */
	first(): Promise<string | undefined>;
	/** Creates an admin key when there is no key at all, and returns it, only this once (D30). */
	makeFirst(): Promise<string | undefined>;
	/** Creates a key and returns it, only this once. */
	create(q: {
		name: string;
		scopes: readonly Scope[];
		endpoints?: readonly string[] | undefined;
		expiresAt?: number | undefined;
	}): Promise<{ key: string; shown: KeyView }>;
	/**
	 * Replaces a key and returns the new one, only this once; the one before is valid for `overlapMs`
	 * more. Its sessions end. `expiresAt` absent: as before. Throws `key_not_found`.
	 */
	rotate(
		id: string,
		q: { overlapMs: number; expiresAt?: number | undefined },
	): Promise<{ key: string; shown: KeyView }>;
	/** All keys, oldest first; not the one of the environment. */
	list(): Promise<KeyView[]>;
	/** Another server may have changed keys: reads each one from the store again. */
	forgetCached(): void;
	/**
	 * Revokes a key; its next call is 401. Throws `key_not_found`, and `last_admin_key` for the only
	 * key that could create others.
	 */
	revoke(id: string): Promise<void>;
}

interface CachedKey extends KeyHolder {
	/** When its use was last recorded in the store. */
	recordedAt: EpochMs;
}

/** Whether a caller may do something of this scope on this endpoint. */
export function may(principal: Principal, scope: Scope, endpoint?: string): boolean {
	if (principal.endpoints && endpoint !== undefined && !principal.endpoints.includes(endpoint)) return false;
	const { scopes } = principal;
	return scopes.includes("admin") || scopes.includes(scope) || (scope === "read" && scopes.includes("write"));
}

function viewOf({ hash: _hash, previous, ...shown }: KeyRow): KeyView {
	return { ...shown, previousUntil: previous?.until };
}

/** Returns what is cached of a row that was found by the hash `found`, which is another one before a rotation. */
function cachedKey(
	{ id: keyId, name, hash: hashed, scopes, endpoints, expiresAt = Infinity, lastUsedAt = 0, previous }: KeyRow,
	found = hashed,
): CachedKey {
	return {
		hash: hashed,
		principal: { keyId, name, scopes: scopes as Scope[], endpoints },
		recordedAt: lastUsedAt,
		until: found === hashed ? expiresAt : Math.min(expiresAt, previous?.until ?? 0),
	};
}

/** `onFault` gets the error when a use could not be recorded. */
export function apiKeys(d: {
	store: KeyStore;
	now: () => EpochMs;
	random: Random;
	fromEnvironment?: string | undefined;
	/** Whether unknown keys of this peer must not cost a read of the store each (D41). */
	strained: (peer: Peer) => boolean;
	onFault: (error: unknown) => void;
}): ApiKeys {
	const admin: Principal = { keyId: "environment", name: "SLUICE_API_KEY", scopes: ["admin"] };
	const own: CachedKey | undefined =
		d.fromEnvironment === undefined
			? undefined
			: {
					principal: admin,
					hash: digest(d.fromEnvironment),
					// No row of the store has its use.
					recordedAt: Infinity,
					until: Infinity,
				};
	const cache = new CredentialCache({ ...d, entryOf: cachedKey });

	async function add(
		q: Pick<KeyRow, "name" | "scopes" | "endpoints" | "expiresAt">,
		ifNone: boolean,
	): Promise<{ key: string; shown: KeyView } | undefined> {
		const key = newKey();
		const shown: KeyView = { ...q, id: uuidv7(d.now(), d.random), createdAt: d.now() };
		const added = await d.store.insert({ row: { ...shown, hash: digest(key) }, ifNone });
		cache.forget(() => false);
		return added ? { key, shown } : undefined;
	}

	const newKey = (): string => `sluice_${hex(d.random(KEY_BYTES))}`;

	/** Returns whether the key is still valid. With `peer` it is a use, recorded at most once a minute. */
	function isUsable(entry: CachedKey, peer?: Peer): boolean {
		const now = d.now();
		if (now >= entry.until) return false;
		if (peer && cache.isUseDue(entry))
			d.store.used({ id: entry.principal.keyId, now, address: peer.remoteAddress }).catch(d.onFault);
		return true;
	}

	/** Returns the entry of a key that is not cached. */
	async function read(key: string, peer?: Peer): Promise<CachedKey | undefined> {
		if (!own || !equal(digest(key), own.hash)) return await cache.read(key, peer);
		cache.set(key, own);
		return own;
	}

	async function signIn(key: string, peer?: Peer): Promise<CachedKey | undefined> {
		const entry = cache.get(key) ?? (await read(key, peer));
		return entry && isUsable(entry, peer) ? entry : undefined;
	}

	return {
		identify: async (key, peer) => (await signIn(key, peer))?.principal,
		signIn,
		async holder(id, peer) {
			if (id === admin.keyId) return own;
			const entry = await cache.withId(id);
			return entry && isUsable(entry, peer) ? entry : undefined;
		},
		first: async () =>
			own
				? admin.keyId
				: (await d.store.list()).find(
						({ scopes, expiresAt = Infinity }) => scopes.includes("admin") && d.now() < expiresAt,
					)?.id,
		async makeFirst() {
			if (own || (await d.store.list()).length > 0) return undefined;
			return (await add({ name: "first key", scopes: ["admin"] }, true))?.key;
		},
		async create({ name, scopes, endpoints, expiresAt }) {
			const only = endpoints ? { endpoints: [...endpoints] } : {};
			const made = await add({ name, scopes: [...scopes], ...only, expiresAt }, false);
			if (!made) throw new Error("The store did not take the new key.");
			return made;
		},
		list: async () => (await d.store.list()).map(viewOf),
		async rotate(id, { overlapMs, expiresAt }) {
			const row = (await d.store.list()).find((each) => each.id === id);
			const key = newKey();
			const next = {
				hash: digest(key),
				previousUntil: d.now() + overlapMs,
				expiresAt: expiresAt ?? row?.expiresAt,
			};
			if (!row || !(await d.store.rotate({ id, ...next })))
				throw new ApiError("key_not_found", { key: id.slice(0, 80) });
			cache.forget();
			const previous = { hash: row.hash, until: next.previousUntil };
			return { key, shown: viewOf({ ...row, expiresAt: next.expiresAt, previous }) };
		},
		forgetCached: () => cache.forget(),
		async revoke(id) {
			const answer = await d.store.remove({ id, now: d.now(), ...(own ? {} : { keep: "admin" }) });
			if (answer === "missing") throw new ApiError("key_not_found", { key: id.slice(0, 80) });
			if (answer === "last") throw new ApiError("last_admin_key");
			cache.forget(({ principal }) => principal.keyId === id);
		},
	};
}

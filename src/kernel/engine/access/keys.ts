/** API keys (D30). The key of the environment is an admin key; the store holds the SHA-256 of the others. */
import { ApiError } from "../../core/errors.ts";
import type { Scope } from "../../core/access/key-request.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { KeyRow } from "../../store/contract/access.ts";
import { hex, uuidv7 } from "../../lib/ids.ts";
import type { EngineContext } from "../context.ts";
import { type CachedCredentials, CredentialCache, digest, equal } from "./credential-cache.ts";
import type { Failures } from "./failures.ts";
import type { Peer } from "../../core/access/network.ts";

const KEY_BYTES = 24;

export interface Principal {
	keyId: string;
	name: string;
	scopes: readonly Scope[];
	/** Absent: all. */
	endpoints?: readonly string[] | undefined;
}

/** A key without its hash. Times are ms since the epoch. */
export type KeyView = Omit<KeyRow, "hash">;

/** A caller with the SHA-256 of its key, in hex. */
export interface KeyHolder {
	principal: Principal;
	hash: string;
	/** Infinity: never. */
	until: EpochMs;
}

interface CachedKey extends KeyHolder {
	createdAt: EpochMs;
	recordedAt: EpochMs;
}

export function may(principal: Principal, scope: Scope, endpoint?: string): boolean {
	if (principal.endpoints && endpoint !== undefined && !principal.endpoints.includes(endpoint)) return false;
	const { scopes } = principal;
	return scopes.includes("admin") || scopes.includes(scope) || (scope === "read" && scopes.includes("write"));
}

/** Whether no other key could create keys: one that has the scope, all endpoints, and has not expired. */
function isLastAdmin(all: readonly KeyRow[], id: string, now: number): boolean {
	const others = all.filter(
		(key) =>
			key.id !== id &&
			key.scopes.includes("admin") &&
			!key.endpoints &&
			(key.expiresAt === undefined || key.expiresAt > now),
	);
	return others.length === 0 && all.some((key) => key.id === id && key.scopes.includes("admin"));
}

function viewOf({ hash: _hash, ...shown }: KeyRow): KeyView {
	return shown;
}

function cachedKey(row: KeyRow): CachedKey {
	const { id: keyId, name, hash, scopes, endpoints, createdAt, expiresAt = Infinity, lastUsedAt = 0 } = row;
	return {
		hash,
		principal: { keyId, name, scopes: scopes as Scope[], endpoints },
		createdAt,
		recordedAt: lastUsedAt,
		until: expiresAt,
	};
}

const ADMIN: Principal = { keyId: "environment", name: "SLUICE_API_KEY", scopes: ["admin"] };

/** The key is returned only this once. */
interface NewKey {
	key: string;
	shown: KeyView;
}

export type ApiKeys = ReturnType<typeof apiKeys>;

/** `apiKey`: `SLUICE_API_KEY`. */
export function apiKeys({
	store: { keys: store },
	now,
	random,
	background,
	apiKey,
	strained,
}: EngineContext & Pick<Failures, "strained"> & { apiKey?: string | undefined }) {
	/** It has no row, so its use is not recorded. */
	const own: CachedKey | undefined =
		apiKey === undefined
			? undefined
			: { principal: ADMIN, hash: digest(apiKey), createdAt: 0, recordedAt: Infinity, until: Infinity };
	const cache = new CredentialCache({ store, now, strained, entryOf: cachedKey });

	async function add(
		q: Pick<KeyRow, "name" | "scopes" | "endpoints" | "expiresAt">,
		ifNone: boolean,
	): Promise<NewKey | undefined> {
		const key = newKey();
		const shown: KeyView = { ...q, id: uuidv7(now(), random), createdAt: now() };
		const added = await store.insert({ row: { ...shown, hash: digest(key) }, ifNone });
		cache.forget(() => false);
		return added ? { key, shown } : undefined;
	}

	const newKey = (): string => `sluice_${hex(random(KEY_BYTES))}`;

	/** With `peer` it is a use of the key. */
	function isUsable(entry: CachedKey, peer?: Peer): boolean {
		if (now() >= entry.until) return false;
		if (peer && cache.isUseDue(entry)) {
			const use = { id: entry.principal.keyId, now: now(), address: peer.remoteAddress };
			background.run("recording the use of a key", store.used(use));
		}
		return true;
	}

	async function read(key: string, peer?: Peer): Promise<CachedKey | undefined> {
		if (!own || !equal(digest(key), own.hash)) return await cache.read(key, peer);
		cache.set(key, own);
		return own;
	}

	/** With `peer` it is a use of the key. */
	async function signIn(key: string, peer?: Peer): Promise<KeyHolder | undefined> {
		const entry = cache.get(key) ?? (await read(key, peer));
		return entry && isUsable(entry, peer) ? entry : undefined;
	}

	return {
		/** Whether a text has the key of the environment in it. Takes as long for one that nearly has. */
		isOwnIn(text: string): boolean {
			if (apiKey === undefined) return false;
			const starts = Array.from({ length: Math.max(0, text.length - apiKey.length + 1) }, (_, start) => start);
			return starts.filter((start) => equal(text.slice(start, start + apiKey.length), apiKey)).length > 0;
		},
		identify: async (key: string, peer: Peer) => (await signIn(key, peer))?.principal,
		signIn,
		/** Returns undefined when the key was revoked. With `peer` it is a use of the key. */
		async holder(id: string, peer?: Peer): Promise<KeyHolder | undefined> {
			if (id === ADMIN.keyId) return own;
			const entry = await cache.withId(id);
			return entry && isUsable(entry, peer) ? entry : undefined;
		},
		/** Returns the id of the key of the environment, else of the oldest admin key. */
		async first(): Promise<string | undefined> {
			if (own) return ADMIN.keyId;
			const rows = await store.list();
			return rows.find(({ scopes, expiresAt = Infinity }) => scopes.includes("admin") && now() < expiresAt)?.id;
		},
		/** Creates an admin key when there is no key at all (D30). */
		async makeFirst(): Promise<string | undefined> {
			if (own || (await store.list()).length > 0) return undefined;
			return (await add({ name: "First key", scopes: ["admin"] }, true))?.key;
		},
		async create({ name, scopes, endpoints, expiresAt }: Omit<Principal, "keyId"> & Pick<KeyRow, "expiresAt">) {
			const only = endpoints ? { endpoints: [...endpoints] } : {};
			const made = await add({ name, scopes: [...scopes], ...only, expiresAt }, false);
			if (!made) throw new Error("The store did not take the new key.");
			return made;
		},
		list: async () => (await store.list()).map(viewOf),
		/** Whether the environment has a key. */
		inEnvironment: own !== undefined,
		/**
		 * Ends the key before and its sessions. Throws `key_not_found`, and `last_admin_key` for the only key that could
		 * create others: if this answer were lost, no administrator would have one.
		 */
		async rotate(id: string, { expiresAt }: { expiresAt?: number | undefined }): Promise<NewKey> {
			if (!own && isLastAdmin(await store.list(), id, now())) throw new ApiError("last_admin_key");
			const key = newKey();
			const row = await store.rotate({ id, hash: digest(key), expiresAt });
			if (!row) throw new ApiError("key_not_found", { key: id.slice(0, 80) });
			cache.forget();
			return { key, shown: viewOf(row) };
		},
		cached: cache as CachedCredentials,
		/** Throws `key_not_found`, and `last_admin_key` for the only key that could create others. */
		async revoke(id: string): Promise<void> {
			const answer = await store.remove({ id, now: now(), ...(own ? {} : { keep: "admin" }) });
			if (answer === "missing") throw new ApiError("key_not_found", { key: id.slice(0, 80) });
			if (answer === "last") throw new ApiError("last_admin_key");
			cache.forget(({ principal }) => principal.keyId === id);
		},
	};
}

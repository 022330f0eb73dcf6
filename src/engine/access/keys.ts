/**
 * API keys (D30): who may do what. The key of the environment is an admin key; others are in the
 * store as their SHA-256.
 */
import { hash, timingSafeEqual } from "node:crypto";
import { ApiError } from "../../core/errors.ts";
import type { Scope } from "../../core/key-request.ts";
import type { KeyRow, KeyStore } from "../../store/contract/keys.ts";
import type { Random } from "../../ids.ts";
import { hex, uuidv7 } from "../../ids.ts";
import { digest } from "./worker-tokens.ts";

const KEY_BYTES = 24;

/** Time between two notes of a key's use, ms. */
const NOTE_MS = 60_000;

/** A caller, known by its key. */
export interface Principal {
	keyId: string;
	/** What its key is called. */
	name: string;
	scopes: readonly Scope[];
	/** Endpoints it may use; absent: all. */
	endpoints?: readonly string[] | undefined;
}

/** A key as it is shown: never its hash. Times are ms since the epoch. */
export type KeyView = Omit<KeyRow, "hash">;

/** A caller with the SHA-256 of its key. */
export interface KeyHolder {
	principal: Principal;
	hash: Uint8Array;
}

/** Knows callers by their keys. */
export interface KeyStoreAccess {
	/** The caller with this key, or undefined. */
	identify(key: string): Promise<Principal | undefined>;
	/**
	 * The caller whose key has this id, undefined when it has ended; for one who was known by the key
	 * itself before.
	 */
	holder(id: string): Promise<KeyHolder | undefined>;
	/**
	 * The id of the key of the environment, else of the oldest admin key; undefined when there is
	 * none.
	 */
	first(): Promise<string | undefined>;
	/**
	 * Makes an admin key when there is none at all, neither here nor in the environment; it is told
	 * this once (D30).
	 */
	makeFirst(): Promise<string | undefined>;
	/** Makes a key; it is told this once. */
	create(q: {
		name: string;
		scopes: readonly Scope[];
		endpoints?: readonly string[] | undefined;
	}): Promise<{ key: string; shown: KeyView }>;
	/** All keys, oldest first; not the one of the environment. */
	list(): Promise<KeyView[]>;
	/** Keys were changed by another server: looks each one up again. */
	forget(): void;
	/**
	 * Ends a key; its next call is 401. Throws `key_not_found`, and `last_admin_key` for the only key
	 * that could make others.
	 */
	revoke(id: string): Promise<void>;
}

interface Known extends KeyHolder {
	/** When its use was last noted in the store. */
	notedAt: number;
}

/** Whether a caller may do something of this scope on this endpoint. */
export function may(principal: Principal, scope: Scope, endpoint?: string): boolean {
	if (principal.endpoints && endpoint !== undefined && !principal.endpoints.includes(endpoint))
		return false;
	const { scopes } = principal;
	return (
		scopes.includes("admin") ||
		scopes.includes(scope) ||
		(scope === "read" && scopes.includes("write"))
	);
}

/**
 * Keys over the store, and the one of the environment. `onFault` is told when a use could not be
 * noted.
 */
export function keys(d: {
	store: KeyStore;
	now: () => number;
	random: Random;
	fromEnvironment?: string | undefined;
	onFault: (error: unknown) => void;
}): KeyStoreAccess {
	const admin: Principal = { keyId: "environment", name: "SLUICE_API_KEY", scopes: ["admin"] };
	const own: Known | undefined =
		d.fromEnvironment === undefined
			? undefined
			: { principal: admin, hash: hash("sha256", d.fromEnvironment, "buffer"), notedAt: Infinity };
	/**
	 * By the keys themselves, of those that called: their hash for each call would cost more than all
	 * else that is done to admit it.
	 */
	const known = new Map<string, Known>();
	/** By the ids of the keys. */
	const byId = new Map<string, Known>();
	/** Grows with each key that ends, so that what was read before is not remembered after. */
	let ended = 0;

	async function add(
		q: Omit<KeyRow, "id" | "hash" | "createdAt">,
		ifNone: boolean,
	): Promise<{ key: string; shown: KeyView } | undefined> {
		const key = `sluice_${hex(d.random(KEY_BYTES))}`;
		const shown: KeyView = { ...q, id: uuidv7(d.now(), d.random), createdAt: d.now() };
		return (await d.store.insert({ row: { ...shown, hash: digest(key) }, ifNone }))
			? { key, shown }
			: undefined;
	}

	/** Notes the use of a key, at most once a minute. */
	function use(entry: Known): Principal {
		const now = d.now();
		if (now - entry.notedAt >= NOTE_MS) {
			entry.notedAt = now;
			d.store.used({ id: entry.principal.keyId, now }).catch(d.onFault);
		}
		return entry.principal;
	}

	/** Remembers a key as it was read, unless one has ended since `before`. */
	function remember(
		{ id: keyId, name, hash: hashed, scopes, endpoints, lastUsedAt }: KeyRow,
		before: number,
	): Known {
		const entry: Known = byId.get(keyId) ?? {
			hash: Buffer.from(hashed, "hex"),
			principal: { keyId, name, scopes: scopes as Scope[], endpoints },
			notedAt: lastUsedAt ?? 0,
		};
		if (before === ended) byId.set(keyId, entry);
		return entry;
	}

	return {
		async identify(key) {
			const seen = known.get(key);
			if (seen) return use(seen);
			const bytes = hash("sha256", key, "buffer");
			if (own && timingSafeEqual(bytes, own.hash)) {
				known.set(key, own);
				return admin;
			}
			const before = ended;
			const row = await d.store.find({ hash: bytes.toString("hex") });
			if (!row) return undefined;
			const entry = remember(row, before);
			if (before === ended) known.set(key, entry);
			return use(entry);
		},
		async holder(id) {
			if (id === admin.keyId) return own;
			let entry = byId.get(id);
			if (!entry) {
				const before = ended;
				const row = (await d.store.list()).find((each) => each.id === id);
				entry = row && remember(row, before);
			}
			if (entry) use(entry);
			return entry;
		},
		first: async () =>
			own ? admin.keyId : (await d.store.list()).find(({ scopes }) => scopes.includes("admin"))?.id,
		makeFirst: async () =>
			own ? undefined : (await add({ name: "first key", scopes: ["admin"] }, true))?.key,
		async create({ name, scopes, endpoints }) {
			const made = await add(
				{ name, scopes: [...scopes], ...(endpoints ? { endpoints: [...endpoints] } : {}) },
				false,
			);
			if (!made) throw new Error("The store did not take the new key.");
			return made;
		},
		list: async () =>
			(await d.store.list()).map(({ id, name, scopes, endpoints, createdAt, lastUsedAt }) => ({
				id,
				name,
				scopes,
				endpoints,
				createdAt,
				lastUsedAt,
			})),
		forget() {
			ended += 1;
			known.clear();
			byId.clear();
		},
		async revoke(id) {
			const answer = await d.store.remove({ id, ...(own ? {} : { keep: "admin" }) });
			if (answer === "missing") throw new ApiError("key_not_found", { key: id.slice(0, 80) });
			if (answer === "last") throw new ApiError("last_admin_key");
			ended += 1;
			byId.delete(id);
			for (const [key, entry] of known) if (entry.principal.keyId === id) known.delete(key);
		},
	};
}

/**
 * API keys, sessions or worker tokens that this server has read, by the secret itself: hashing one for each
 * call would cost more than the rest of a check. Invariants:
 *
 * - Only valid secrets have an entry, so callers cannot fill the cache.
 * - A read that began before a call of `forget` adds no entry: its credential may have ended.
 * - Unknown secrets of strained peers share one read of the list for {@link FRESH_MS} (D41).
 * - The use of an entry is recorded at most once in {@link RECORD_USE_MS}.
 */
import { hash, timingSafeEqual } from "node:crypto";
import type { EpochMs } from "../../core/time.ts";
import type { Peer } from "../../core/network.ts";

/** Age from which the list is read again, ms. */
const FRESH_MS = 1000;

/** Least time between two records of the use of an entry, ms. */
const RECORD_USE_MS = 60_000;

/** SHA-256 in hex. */
export function digest(secret: string): string {
	return hash("sha256", secret, "hex");
}

/** Compares digests in constant time. */
export function equal(one: string, other: string): boolean {
	const [a, b] = [Buffer.from(one), Buffer.from(other)];
	return a.length === b.length && timingSafeEqual(a, b);
}

interface Source<R, E> {
	store: { find(q: { hash: string }): Promise<R | undefined>; list(): Promise<readonly R[]> };
	now: () => EpochMs;
	strained: (peer: Peer) => boolean;
	/** Returns what is cached of a row; `found`: the hash by which it was found, absent by its id. */
	entryOf(row: R, found?: string): E;
}

export class CredentialCache<
	R extends { id?: string; hash: string; previous?: { hash: string } | undefined },
	E extends { recordedAt: EpochMs },
> {
	readonly #source: Source<R, E>;
	readonly #bySecret = new Map<string, E>();
	readonly #byId = new Map<string, E>();
	/** Number of calls of {@link forget}. */
	#generation = 0;
	#list: { at: EpochMs; byHash: Promise<ReadonlyMap<string, R>> } | undefined;

	constructor(source: Source<R, E>) {
		this.#source = source;
	}

	get(secret: string): E | undefined {
		return this.#bySecret.get(secret);
	}

	/** Caches the entry of a valid secret. */
	set(secret: string, entry: E): void {
		this.#bySecret.set(secret, entry);
	}

	/** Reads the entry of a secret from the store. */
	async read(secret: string, peer?: Peer): Promise<E | undefined> {
		const { store, strained } = this.#source;
		const found = digest(secret);
		const isShared = peer !== undefined && strained(peer);
		const row = isShared ? this.#listed().then((rows) => rows.get(found)) : store.find({ hash: found });
		return await this.#keep(this.#bySecret, secret, row, found);
	}

	/** Returns the entry of the row with this id. */
	async withId(id: string): Promise<E | undefined> {
		const find = async (): Promise<R | undefined> => (await this.#source.store.list()).find((row) => row.id === id);
		return this.#byId.get(id) ?? (await this.#keep(this.#byId, id, find()));
	}

	/** Returns whether the use of an entry is to be recorded now. */
	isUseDue(entry: E): boolean {
		const now = this.#source.now();
		const isDue = now - entry.recordedAt >= RECORD_USE_MS;
		if (isDue) entry.recordedAt = now;
		return isDue;
	}

	/** Drops the entries that may have ended, all by default, and the list. */
	forget(ended: (entry: E) => boolean = () => true): void {
		this.#generation += 1;
		this.#list = undefined;
		for (const entries of [this.#bySecret, this.#byId])
			for (const [name, entry] of entries) if (ended(entry)) entries.delete(name);
	}

	async #keep(entries: Map<string, E>, name: string, read: Promise<R | undefined>, found?: string) {
		const readIn = this.#generation;
		const row = await read;
		const entry = row && this.#source.entryOf(row, found);
		if (entry && readIn === this.#generation) entries.set(name, entry);
		return entry;
	}

	#listed(): Promise<ReadonlyMap<string, R>> {
		const { store, now } = this.#source;
		if (this.#list && Math.abs(now() - this.#list.at) < FRESH_MS) return this.#list.byHash;
		const byHash = store
			.list()
			.then((rows) => new Map(rows.flatMap((row) => [row, row.previous ?? row].map(({ hash: each }) => [each, row]))));
		const list = { at: now(), byHash };
		this.#list = list;
		byHash.catch(() => {
			if (this.#list === list) this.#list = undefined;
		});
		return byHash;
	}
}

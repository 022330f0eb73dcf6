/**
 * API keys, sessions or worker tokens by the secret itself, because hashing one for each call costs more than the rest
 * of a check. Only valid secrets have an entry, so that callers cannot fill the cache.
 */
import { hash, timingSafeEqual } from "node:crypto";
import type { EpochMs } from "../../lib/time.ts";
import type { Peer } from "../../core/access/network.ts";

/** Unknown secrets of strained peers share one read of the list for this time (D41). */
const FRESH_MS = 1000;

const RECORD_USE_MS = 60_000;

/** Longer than between two reads for lost signals, with the differences of servers' clocks. */
const YOUNG_MS = 30_000;

/** SHA-256 in hex. */
export function digest(secret: string): string {
	return hash("sha256", secret, "hex");
}

export function equal(one: string, other: string): boolean {
	const [a, b] = [Buffer.from(one), Buffer.from(other)];
	return a.length === b.length && timingSafeEqual(a, b);
}

/** What drops cached credentials that another server may have ended. */
export interface CachedCredentials {
	forget(): void;
	forgetYoung(): void;
}

interface Source<R, E> {
	store: { find(q: { hash: string }): Promise<R | undefined>; list(): Promise<readonly R[]> };
	now: () => EpochMs;
	strained: (peer: Peer) => boolean;
	entryOf(row: R): E;
}

export class CredentialCache<
	R extends { id?: string; hash: string },
	E extends { createdAt: EpochMs; recordedAt: EpochMs },
> implements CachedCredentials
{
	readonly #source: Source<R, E>;
	readonly #bySecret = new Map<string, E>();
	readonly #byId = new Map<string, E>();
	/** A read that began before a call of {@link forget} adds no entry, because its credential may have ended. */
	#generation = 0;
	#list: { at: EpochMs; byHash: Promise<ReadonlyMap<string, R>> } | undefined;

	constructor(source: Source<R, E>) {
		this.#source = source;
	}

	get(secret: string): E | undefined {
		return this.#bySecret.get(secret);
	}

	set(secret: string, entry: E): void {
		this.#bySecret.set(secret, entry);
	}

	async read(secret: string, peer?: Peer): Promise<E | undefined> {
		const { store, strained } = this.#source;
		const found = digest(secret);
		const isShared = peer !== undefined && strained(peer);
		const row = isShared ? this.#listed().then((rows) => rows.get(found)) : store.find({ hash: found });
		return await this.#keep(this.#bySecret, secret, row);
	}

	async withId(id: string): Promise<E | undefined> {
		const find = async (): Promise<R | undefined> => (await this.#source.store.list()).find((row) => row.id === id);
		return this.#byId.get(id) ?? (await this.#keep(this.#byId, id, find()));
	}

	isUseDue(entry: E): boolean {
		const now = this.#source.now();
		const isDue = now - entry.recordedAt >= RECORD_USE_MS;
		if (isDue) entry.recordedAt = now;
		return isDue;
	}

	/** Drops the list, and the entries that may have ended. */
	forget(ended: (entry: E) => boolean = () => true): void {
		this.#generation += 1;
		this.#list = undefined;
		for (const entries of [this.#bySecret, this.#byId])
			for (const [name, entry] of entries) if (ended(entry)) entries.delete(name);
	}

	/**
	 * Drops the entries of credentials that were created a short time ago. One that was created and ended between two
	 * reads of the store leaves no trace that the second one would find.
	 */
	forgetYoung(): void {
		const since = this.#source.now() - YOUNG_MS;
		this.forget(({ createdAt }) => createdAt > since);
	}

	async #keep(entries: Map<string, E>, name: string, read: Promise<R | undefined>) {
		const readIn = this.#generation;
		const row = await read;
		const entry = row && this.#source.entryOf(row);
		if (entry && readIn === this.#generation) entries.set(name, entry);
		return entry;
	}

	#listed(): Promise<ReadonlyMap<string, R>> {
		const { store, now } = this.#source;
		if (this.#list && Math.abs(now() - this.#list.at) < FRESH_MS) return this.#list.byHash;
		const byHash = store.list().then((rows) => new Map(rows.map((row) => [row.hash, row])));
		const list = { at: now(), byHash };
		this.#list = list;
		byHash.catch(() => {
			if (this.#list === list) this.#list = undefined;
		});
		return byHash;
	}
}

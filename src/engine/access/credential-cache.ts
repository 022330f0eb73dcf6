/**
 * Credentials of one kind that this server has read: API keys, sessions or worker tokens. They are cached
 * by the secret itself, since hashing one for each call would cost more than the rest of a check.
 *
 * - Only valid secrets have an entry, so callers cannot fill the cache.
 * - An entry is kept only if nothing was forgotten since its row was requested: a credential that has ended
 *   is not cached by a read that began before.
 * - Unknown secrets of strained peers share one read of the list for {@link FRESH_MS} (D41).
 * - The use of an entry is recorded at most once in {@link RECORD_USE_MS}.
 * - Changes by other servers are seen once {@link CredentialCache.forget} is called for their signal.
 */
import { hash } from "node:crypto";
import type { EpochMs } from "../../core/time.ts";
import type { Peer } from "../../core/network.ts";

/** Age from which the list is read again, ms. */
const FRESH_MS = 1000;

/** Least time between two records of the use of an entry, ms. */
const RECORD_USE_MS = 60_000;

/** A row of the store, found by the hash of its secret, or by that of the secret that it replaced. */
interface Row {
	id?: string;
	hash: string;
	previous?: { hash: string } | undefined;
}

interface Entry {
	/** When its use was last recorded in the store. */
	recordedAt: EpochMs;
}

interface CredentialSource<R extends Row, E extends Entry> {
	store: {
		find(q: { hash: string }): Promise<R | undefined>;
		list(): Promise<readonly R[]>;
	};
	now: () => EpochMs;
	/** Whether unknown secrets of this peer must not cost a read of the store each (D41). */
	strained: (peer: Peer) => boolean;
	/** Returns what is cached of a row; `found`: the hash by which it was found, absent by its id. */
	entryOf(row: R, found?: string): E;
}

/** SHA-256 in hex. */
export function digest(secret: string): string {
	return hash("sha256", secret, "hex");
}

export class CredentialCache<R extends Row, E extends Entry> {
	readonly #source: CredentialSource<R, E>;
	readonly #bySecret = new Map<string, E>();
	readonly #byId = new Map<string, E>();
	/** Grows with each call of {@link forget}. */
	#generation = 0;
	#list: { at: EpochMs; byHash: Promise<ReadonlyMap<string, R>> } | undefined;

	constructor(source: CredentialSource<R, E>) {
		this.#source = source;
	}

	/** Returns the entry of a secret that is cached. */
	get(secret: string): E | undefined {
		return this.#bySecret.get(secret);
	}

	/** Caches the entry of a secret that is known to be valid. */
	set(secret: string, entry: E): void {
		this.#bySecret.set(secret, entry);
	}

	/** Reads the entry of a secret from the store. */
	async read(secret: string, peer?: Peer): Promise<E | undefined> {
		const { store, strained } = this.#source;
		const hashed = digest(secret);
		const find = async (): Promise<R | undefined> =>
			peer && strained(peer) ? (await this.#listed()).get(hashed) : await store.find({ hash: hashed });
		return await this.#keep(this.#bySecret, secret, find, hashed);
	}

	/** Returns the entry of the row with this id, read from the store unless it is cached. */
	async withId(id: string): Promise<E | undefined> {
		const find = async (): Promise<R | undefined> => (await this.#source.store.list()).find((each) => each.id === id);
		return this.#byId.get(id) ?? (await this.#keep(this.#byId, id, find));
	}

	/** Returns whether the use of an entry is to be recorded now. */
	isUseDue(entry: E): boolean {
		const now = this.#source.now();
		const isDue = now - entry.recordedAt >= RECORD_USE_MS;
		if (isDue) entry.recordedAt = now;
		return isDue;
	}

	/** Drops the entries that may have changed or ended, all by default, and the list. */
	forget(ended: (entry: E) => boolean = () => true): void {
		this.#generation += 1;
		this.#list = undefined;
		for (const entries of [this.#bySecret, this.#byId])
			for (const [name, entry] of entries) if (ended(entry)) entries.delete(name);
	}

	async #keep(
		entries: Map<string, E>,
		name: string,
		find: () => Promise<R | undefined>,
		found?: string,
	): Promise<E | undefined> {
		const readIn = this.#generation;
		const row = await find();
		if (!row) return undefined;
		const entry = this.#source.entryOf(row, found);
		if (readIn === this.#generation) entries.set(name, entry);
		return entry;
	}

	async #listed(): Promise<ReadonlyMap<string, R>> {
		const now = this.#source.now();
		if (!this.#list || Math.abs(now - this.#list.at) >= FRESH_MS) {
			const next = { at: now, byHash: this.#rowsByHash() };
			this.#list = next;
			next.byHash.catch(() => {
				if (this.#list === next) this.#list = undefined;
			});
		}
		return await this.#list.byHash;
	}

	async #rowsByHash(): Promise<ReadonlyMap<string, R>> {
		const rows = await this.#source.store.list();
		return new Map(
			rows.flatMap((row) => [row, row.previous].flatMap((each) => (each ? [[each.hash, row] as const] : []))),
		);
	}
}

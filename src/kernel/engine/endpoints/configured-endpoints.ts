/** The endpoints of `sluice.yaml`, which replace stored ones when the service starts, or as soon as they can. */
import type { Endpoint } from "../../core/endpoints/endpoint.ts";
import { unlessFull } from "../availability/storage/free-space.ts";
import type { EngineContext } from "../context.ts";

interface Deps extends Pick<EngineContext, "events" | "background"> {
	/** Whether an endpoint of this id is stored, even with settings that cannot be read. */
	exists: (id: string) => boolean;
	isBeingDeleted: (id: string) => boolean;
	/** Stores an endpoint; undefined if another server changed it since it was read. */
	store: (endpoint: Endpoint) => Promise<true | undefined>;
	/** Runs `work` after earlier changes; where servers share the store, after a read of what the others have stored. */
	inTurn: (work: () => Promise<void>) => Promise<void>;
	/** Repeats a change until no other server changed the endpoint in between. */
	repeated: (id: string, made: () => Promise<true | undefined>) => Promise<true>;
}

export class ConfiguredEndpoints {
	readonly #d: Deps;
	#ids: ReadonlySet<string> = new Set();
	/**
	 * Endpoints of the file that are not stored yet, because the disk is full or the endpoint of that id is still being
	 * deleted.
	 */
	readonly #unstored = new Map<string, { endpoint: Endpoint; afterDeletion: boolean }>();

	constructor(d: Deps) {
		this.#d = d;
		d.events.on("store.back", () => this.#storeLater([...this.#unstored.keys()]));
		d.events.on("endpoint.deleted", ({ endpoint }) => this.#storeLater([endpoint]));
	}

	has(id: string): boolean {
		return this.#ids.has(id);
	}

	async load(configured: readonly Endpoint[]): Promise<void> {
		this.#ids = new Set(configured.map(({ id }) => id));
		for (const endpoint of configured) this.#unstored.set(endpoint.id, { endpoint, afterDeletion: false });
		await this.#store(this.#ids);
	}

	/** Call after each read of the store. An endpoint that was created after a deletion is newer than the file. */
	dropOlder(): void {
		for (const [id, { afterDeletion }] of this.#unstored)
			if (afterDeletion && this.#d.exists(id)) this.#unstored.delete(id);
	}

	#storeLater(ids: readonly string[]): void {
		const { inTurn, events, background } = this.#d;
		const unstored = ids.filter((id) => this.#unstored.has(id));
		if (unstored.length === 0) return;
		const done = inTurn(() => this.#store(unstored)).then(() => events.emit("endpoints.changed", {}));
		background.run("storing the configured endpoints", done);
	}

	/** Stores these endpoints; those that cannot be stored now remain in `#unstored`. */
	async #store(ids: Iterable<string>): Promise<void> {
		for (const id of ids) await unlessFull(this.#d.repeated(id, () => this.#tryToStore(id)));
	}

	async #tryToStore(id: string): Promise<true | undefined> {
		this.dropOlder();
		const unstored = this.#unstored.get(id);
		if (!unstored) return true;
		if (this.#d.isBeingDeleted(id)) {
			unstored.afterDeletion = true;
			return true;
		}
		if (!(await this.#d.store(unstored.endpoint))) return undefined;
		this.#unstored.delete(id);
		return true;
	}
}

/** Hosts of the configuration that get no workers, in the store's contract (D44); rules: store.ts. */

export interface HostStore {
	/** Names of the drained hosts. */
	drained(): Promise<string[]>;
	/** Idempotent. `drained`: whether it gets no workers from now on. */
	drain(q: { name: string; drained: boolean; now: number }): Promise<void>;
}

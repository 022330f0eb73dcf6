/** Hosts of the configuration that get no workers (D44). */

export interface HostStore {
	drained(): Promise<string[]>;
	/** Idempotent. */
	drain(q: { name: string; drained: boolean; now: number }): Promise<void>;
}

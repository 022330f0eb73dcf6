/**
 * Worker tokens (D26): made at launch or for `worker-env`, good for one endpoint, kept as their
 * SHA-256.
 */
import { hash } from "node:crypto";
import type { TokenRow, TokenStore } from "../../store/contract/workers.ts";
import type { Random } from "../../ids.ts";
import { hex } from "../../ids.ts";

const TOKEN_BYTES = 24;

/** Makes and checks worker tokens. */
export interface Tokens {
	/** A new token; without `worker` it is good for any worker id of the endpoint (`--replicas`). */
	issue(q: { endpoint: string; worker?: string }): Promise<string>;
	/** Whether the token is good for this worker of this endpoint. */
	admits(q: { token: string; endpoint: string; worker: string }): Promise<boolean>;
	/** Ends the token of a worker that is gone. */
	revoke(worker: string): Promise<void>;
	/**
	 * The store has removed the tokens of a deleted endpoint; without one, another server may have
	 * removed any.
	 */
	forget(endpoint?: string): void;
}

/** SHA-256 in hex. */
export function digest(secret: string): string {
	return hash("sha256", secret, "hex");
}

/**
 * Tokens over the store. What was found once is remembered by the token itself: its hash for each
 * ping of each worker would cost more than all else of ours in it.
 */
export function tokens(d: { store: TokenStore; now: () => number; random: Random }): Tokens {
	const known = new Map<string, TokenRow>();
	/** Grows with each that may have ended, so that what was read before is not remembered after. */
	let ended = 0;
	return {
		async issue({ endpoint, worker }) {
			const token = `sluice_worker_${hex(d.random(TOKEN_BYTES))}`;
			const row = { hash: digest(token), endpoint, worker, createdAt: d.now() };
			await d.store.put(row);
			known.set(token, row);
			return token;
		},
		async admits({ token, endpoint, worker }) {
			let row = known.get(token);
			if (!row) {
				const before = ended;
				row = await d.store.find({ hash: digest(token) });
				if (!row) return false;
				if (before === ended) known.set(token, row);
			}
			return row.endpoint === endpoint && (row.worker === undefined || row.worker === worker);
		},
		async revoke(worker) {
			for (const [token, row] of known) if (row.worker === worker) known.delete(token);
			await d.store.remove({ worker });
		},
		forget(endpoint) {
			ended += 1;
			for (const [token, row] of known)
				if (endpoint === undefined || row.endpoint === endpoint) known.delete(token);
		},
	};
}

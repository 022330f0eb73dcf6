/** Worker tokens (D26): issued for one endpoint; the store holds their SHA-256. */
import { hash } from "node:crypto";
import type { EpochMs } from "../../core/time.ts";
import type { TokenRow, TokenStore } from "../../store/contract/workers.ts";
import { hex, type Random } from "../../ids.ts";
import type { Peer } from "../../core/network.ts";
import { rowsByHash } from "./rows-by-hash.ts";

const TOKEN_BYTES = 24;

export interface WorkerTokens {
	/** A new token; without `worker` it is valid for any worker id of the endpoint (`--replicas`). */
	issue(q: { endpoint: string; worker?: string }): Promise<string>;
	/** Whether the token is valid for this worker of this endpoint. */
	admits(q: { token: string; endpoint: string; worker: string; peer: Peer }): Promise<boolean>;
	/** Revokes the token of a worker that has exited. */
	revoke(worker: string): Promise<void>;
	/** The tokens of an endpoint, or any without one, may have been removed from the store. */
	forgetCached(endpoint?: string): void;
}

/** SHA-256 in hex. */
export function digest(secret: string): string {
	return hash("sha256", secret, "hex");
}

/** Cached by the token itself: hashing it for each ping would cost more than the rest of a ping. */
export function workerTokens(d: {
	store: TokenStore;
	now: () => EpochMs;
	random: Random;
	/** Whether unknown tokens of this peer must not cost a read of the store each (D41). */
	strained: (peer: Peer) => boolean;
}): WorkerTokens {
	const byToken = new Map<string, TokenRow>();
	const all = rowsByHash({ ...d, list: () => d.store.list(), hashesOf: (row) => [row.hash] });
	/** Grows with each token that may have ended, so that a row read before is not cached after. */
	let generation = 0;
	return {
		async issue({ endpoint, worker }) {
			const token = `sluice_worker_${hex(d.random(TOKEN_BYTES))}`;
			const row = { hash: digest(token), endpoint, worker, createdAt: d.now() };
			await d.store.put(row);
			byToken.set(token, row);
			return token;
		},
		async admits({ token, endpoint, worker, peer }) {
			let row = byToken.get(token);
			if (!row) {
				const readIn = generation;
				const hashed = digest(token);
				row = await (d.strained(peer) ? all.find(hashed) : d.store.find({ hash: hashed }));
				if (!row) return false;
				if (readIn === generation) byToken.set(token, row);
			}
			return row.endpoint === endpoint && (row.worker === undefined || row.worker === worker);
		},
		async revoke(worker) {
			for (const [token, row] of byToken) if (row.worker === worker) byToken.delete(token);
			await d.store.remove({ worker });
			all.forget();
		},
		forgetCached(endpoint) {
			generation += 1;
			all.forget();
			for (const [token, row] of byToken)
				if (endpoint === undefined || row.endpoint === endpoint) byToken.delete(token);
		},
	};
}

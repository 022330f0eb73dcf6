/** Worker tokens (D26): issued for one endpoint; the store holds their SHA-256. */
import type { EpochMs } from "../../core/time.ts";
import type { TokenRow, TokenStore } from "../../store/contract/workers.ts";
import { hex, type Random } from "../../ids.ts";
import { CredentialCache, digest } from "./credential-cache.ts";
import type { Peer } from "../../core/network.ts";

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

export function workerTokens(d: {
	store: TokenStore;
	now: () => EpochMs;
	random: Random;
	/** Whether unknown tokens of this peer must not cost a read of the store each (D41). */
	strained: (peer: Peer) => boolean;
}): WorkerTokens {
	/** The use of a token is not recorded. */
	const entryOf = (row: TokenRow) => ({ ...row, recordedAt: Infinity });
	const cache = new CredentialCache({ ...d, entryOf });
	return {
		async issue({ endpoint, worker }) {
			const token = `sluice_worker_${hex(d.random(TOKEN_BYTES))}`;
			const row = { hash: digest(token), endpoint, worker, createdAt: d.now() };
			await d.store.put(row);
			cache.set(token, entryOf(row));
			return token;
		},
		async admits({ token, endpoint, worker, peer }) {
			const row = cache.get(token) ?? (await cache.read(token, peer));
			return row?.endpoint === endpoint && (row.worker === undefined || row.worker === worker);
		},
		async revoke(worker) {
			await d.store.remove({ worker }).finally(() => cache.forget((row) => row.worker === worker));
		},
		forgetCached: (endpoint) => cache.forget((row) => endpoint === undefined || row.endpoint === endpoint),
	};
}

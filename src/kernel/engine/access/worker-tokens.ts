/** Worker tokens (D26); the store holds their SHA-256. */
import type { TokenRow } from "../../store/contract/access.ts";
import { hex } from "../../lib/ids.ts";
import type { EngineContext } from "../context.ts";
import { type CachedCredentials, CredentialCache, digest } from "./credential-cache.ts";
import type { Failures } from "./failures.ts";
import type { Peer } from "../../core/access/network.ts";

const TOKEN_BYTES = 24;

export function workerTokens({
	store: { tokens: store },
	retry,
	now,
	random,
	strained,
}: EngineContext & Pick<Failures, "strained">) {
	/** The use of a token is not recorded. */
	const entryOf = (row: TokenRow) => ({ ...row, recordedAt: Infinity });
	const cache = new CredentialCache({
		// An outage of the store must not cost a worker its result.
		store: { find: (q) => retry(() => store.find(q)), list: () => retry(() => store.list()) },
		now,
		strained,
		entryOf,
	});
	return {
		/** Valid for any worker id of the endpoint if `worker` is absent (`--replicas`). */
		async issue({ endpoint, worker, launchedAs }: Omit<TokenRow, "hash" | "createdAt">): Promise<string> {
			const token = `sluice_worker_${hex(random(TOKEN_BYTES))}`;
			const row = { hash: digest(token), endpoint, worker, launchedAs, createdAt: now() };
			await store.put(row);
			cache.set(token, entryOf(row));
			return token;
		},
		/** `worker` is absent where the path has no id. Undefined: the token is not valid for this worker. */
		async find({
			token,
			endpoint,
			worker,
			peer,
		}: {
			token: string;
			endpoint: string;
			worker: string | undefined;
			peer: Peer;
		}): Promise<Omit<TokenRow, "createdAt"> | undefined> {
			const row = cache.get(token) ?? (await cache.read(token, peer));
			if (row?.endpoint !== endpoint) return undefined;
			return row.worker === undefined || worker === undefined || row.worker === worker ? row : undefined;
		},
		async revoke(worker: string): Promise<void> {
			await store.remove({ worker }).finally(() => cache.forget((row) => row.worker === worker));
		},
		/** The tokens of a deleted endpoint are not in the store any more. */
		forgetCached: (endpoint: string): void => cache.forget((row) => row.endpoint === endpoint),
		cached: cache as CachedCredentials,
	};
}

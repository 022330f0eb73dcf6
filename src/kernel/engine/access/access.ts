import type { EngineContext } from "../context.ts";
import { encryption, type KeyRing } from "../../secrets/encryption.ts";
import type { CachedCredentials } from "./credential-cache.ts";
import { failures } from "./failures.ts";
import { apiKeys } from "./keys.ts";
import { workerTokens } from "./worker-tokens.ts";

export type Access = ReturnType<typeof createAccess>;

export function createAccess(
	context: EngineContext & { keyRing: KeyRing; apiKey: string | undefined; storeId: string },
) {
	const failed = failures(context);
	const d = { ...context, strained: failed.strained, encryption: encryption(context.keyRing, context.random) };
	const keys = apiKeys(d);
	const tokens = workerTokens(d);
	const caches: CachedCredentials[] = [keys.cached, tokens.cached];
	/** Another server may have changed keys, sessions or tokens. */
	function forgetCached(): void {
		for (const cache of caches) cache.forget();
	}
	d.events.on("endpoint.deleted", ({ endpoint }) => tokens.forgetCached(endpoint));
	d.events.on(["store.back", "signals.lost"], forgetCached);
	return {
		keys,
		tokens,
		failures: failed,
		encryption: d.encryption,
		forgetCached,
		/** After a read of the store that found no change of keys, sessions or tokens. */
		forgetYoung(): void {
			for (const cache of caches) cache.forgetYoung();
		},
		/** Drops these too when another server may have changed what authenticates. */
		alsoForget: (cached: CachedCredentials): void => void caches.push(cached),
	};
}

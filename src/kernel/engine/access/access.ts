import type { EngineContext } from "../context.ts";
import { consoleLinks } from "./console-links.ts";
import { encryption, type KeyRing } from "../../secrets/encryption.ts";
import { failures } from "./failures.ts";
import { apiKeys } from "./keys.ts";
import { sessions } from "./sessions.ts";
import { workerTokens } from "./worker-tokens.ts";

export type Access = ReturnType<typeof createAccess>;

export function createAccess(
	context: EngineContext & { keyRing: KeyRing; apiKey: string | undefined; storeId: string },
) {
	const failed = failures(context);
	const d = { ...context, strained: failed.strained, encryption: encryption(context.keyRing, context.random) };
	const keys = apiKeys(d);
	const consoleSessions = sessions({ ...d, keys });
	const tokens = workerTokens(d);
	/** Another server may have changed keys, sessions or tokens. */
	function forgetCached(): void {
		keys.forgetCached();
		consoleSessions.forgetCached();
		tokens.forgetCached();
	}
	d.events.on("endpoint.deleted", ({ endpoint }) => tokens.forgetCached(endpoint));
	d.events.on(["store.back", "hints.lost"], forgetCached);
	return {
		keys,
		/** Console sign-ins (D31). */
		sessions: consoleSessions,
		consoleLinks: consoleLinks({ ...d, keys }),
		tokens,
		failures: failed,
		encryption: d.encryption,
		forgetCached,
	};
}

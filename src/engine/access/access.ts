/** Who may call: API keys, console sessions, worker tokens, and the encryption of stored secrets. */
import type { EngineContext } from "../context.ts";
import { auditLog, type AuditLog } from "./audit.ts";
import { consoleLinks, type ConsoleLinks } from "./console-links.ts";
import { encryption, type Encryption, type KeyRing } from "./encryption.ts";
import { failures, type Failures } from "./failures.ts";
import { apiKeys, type ApiKeys } from "./keys.ts";
import { registries, type Registries } from "./registries.ts";
import { sessions, type Sessions } from "./sessions.ts";
import { workerTokens, type WorkerTokens } from "./worker-tokens.ts";

export interface Access {
	keys: ApiKeys;
	/** Sign-ins of the console (D31). */
	sessions: Sessions;
	consoleLinks: ConsoleLinks;
	tokens: WorkerTokens;
	failures: Failures;
	audit: AuditLog;
	/** Logins to registries of container images (D45). */
	registries: Registries;
	encryption: Encryption;
	/** Another server may have changed keys, sessions or tokens: reads each one from the store again. */
	forgetCached(): void;
}

interface Deps extends Pick<EngineContext, "now" | "random" | "events" | "store" | "retry" | "budgets"> {
	keyRing: KeyRing;
	/** `SLUICE_API_KEY`. */
	apiKey: string | undefined;
	/** Identity of the store. */
	storeId: string;
}

export function createAccess({ store, retry, keyRing, ...d }: Deps): Access {
	const failed = failures(d);
	const keys = apiKeys({
		...d,
		strained: failed.strained,
		store: store.keys,
		fromEnvironment: d.apiKey,
		onFault: (error) => d.events.emit("fault", { where: "recording the use of a key", error }),
	});
	const consoleSessions = sessions({
		...d,
		strained: failed.strained,
		store: store.sessions,
		keys,
		onFault: (error) => d.events.emit("fault", { where: "recording the use of a session", error }),
	});
	const tokens = workerTokens({
		...d,
		strained: failed.strained,
		// While the store is unavailable a worker with a token that is not cached keeps its result.
		store: {
			...store.tokens,
			find: (q) => retry(() => store.tokens.find(q)),
			list: () => retry(() => store.tokens.list()),
		},
	});
	const sealing = encryption(keyRing, d.random);
	function forgetCached(): void {
		keys.forgetCached();
		consoleSessions.forgetCached();
		tokens.forgetCached();
	}
	d.events.on("endpoint.deleted", ({ endpoint }) => tokens.forgetCached(endpoint));
	d.events.on("store.back", forgetCached);
	d.events.on("hints.lost", forgetCached);
	return {
		keys,
		sessions: consoleSessions,
		consoleLinks: consoleLinks({ ...d, keys }),
		tokens,
		failures: failed,
		audit: auditLog({ ...d, store }),
		registries: registries({ ...d, store: store.registries, encryption: sealing }),
		encryption: sealing,
		forgetCached,
	};
}

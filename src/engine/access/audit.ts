/** The audit log: who changed what as an administrator, and with what result (D42). */
import type { AuditEntry } from "../../store/contract/audit.ts";
import type { EngineContext } from "../context.ts";
import { invalidCursor } from "../invalid-cursor.ts";
import type { Peer } from "./failures.ts";
import type { Principal } from "./keys.ts";

/** Least time between two removals of expired entries, ms. */
const EXPIRE_EVERY_MS = 3_600_000;

/** Most entries that one removal removes. */
const EXPIRED_AT_ONCE = 1000;

export interface AuditLog {
	/** Resolves once the entry is durable, or when it could not be stored, which is logged. */
	record(q: Pick<AuditEntry, "action" | "subject" | "result"> & { principal: Principal; peer: Peer }): Promise<void>;
	/** Newest first. Throws `bad_query` for a cursor that is not valid. */
	list(q: {
		keyId?: string | undefined;
		action?: string | undefined;
		cursor?: string | undefined;
		limit: number;
	}): Promise<{ entries: AuditEntry[]; next?: string | undefined }>;
}

type Deps = Pick<EngineContext, "now" | "budgets" | "events"> & {
	store: Pick<EngineContext["store"], "audit">;
};

export function auditLog({ now, budgets, events, store: { audit } }: Deps): AuditLog {
	let expiredAt = -Infinity;

	async function expire(at: number): Promise<void> {
		if (at - expiredAt < EXPIRE_EVERY_MS) return;
		expiredAt = at;
		await audit.expire({ before: at - budgets.auditRetention.limit, limit: EXPIRED_AT_ONCE });
	}

	return {
		async record({ principal, peer, action, subject, result }) {
			const at = now();
			const { keyId, name: keyName } = principal;
			const address = peer.remoteAddress ?? "";
			try {
				await audit.append({ entry: { at, keyId, keyName, address, action, subject, result } });
				await expire(at);
			} catch (error) {
				events.emit("fault", { where: "writing the audit log", error });
			}
		},
		async list(q) {
			try {
				return await audit.list(q);
			} catch (error) {
				throw invalidCursor(error, q.cursor);
			}
		},
	};
}

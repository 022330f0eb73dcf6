/** The audit log: who changed what as an administrator, and with what result (D42). */
import type { AuditEntry } from "../../store/contract/audit.ts";
import type { EpochMs } from "../../core/time.ts";
import type { EngineContext } from "../context.ts";
import { invalidCursor } from "../invalid-cursor.ts";
import { networkOf, type Peer } from "../../core/network.ts";
import type { Principal } from "./keys.ts";

/** Least time between two removals of expired entries, ms. */
const EXPIRE_EVERY_MS = 3_600_000;

/** Maximum number of entries that one removal removes. */
const EXPIRED_AT_ONCE = 1000;

/** Period in which repeated calls are counted, ms, and how many of them have an entry each. */
const REPEATED_MS = 3_600_000;
const MOST_ALONE = 10;

/** Maximum number of addresses of a key that are counted each; all further ones are counted together. */
const MOST_ADDRESSES = 20;

export interface AuditLog {
	/**
	 * Resolves once the entry is durable, or when it could not be stored, which is logged. `repeatable`: any key may
	 * repeat the call, so that only the first ones of an hour have an entry each, then each time that their number has
	 * doubled.
	 */
	record(
		q: Pick<AuditEntry, "action" | "subject" | "result"> & { principal: Principal; peer: Peer; repeatable: boolean },
	): Promise<void>;
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

	/** Repeated calls since a moment: by key and operation, then by address. */
	const repeated = new Map<string, Map<string, number>>();
	let repeatedSince = -Infinity;

	/** How many there were, this one included. */
	function counted(group: string, network: string, at: EpochMs): number {
		if (at < repeatedSince || at - repeatedSince >= REPEATED_MS) {
			repeated.clear();
			repeatedSince = at;
		}
		const byAddress = repeated.get(group) ?? new Map<string, number>();
		repeated.set(group, byAddress);
		const address = byAddress.has(network) || byAddress.size < MOST_ADDRESSES ? network : "others";
		const count = (byAddress.get(address) ?? 0) + 1;
		byAddress.set(address, count);
		return count;
	}

	return {
		async record({ principal, peer, action, subject, result, repeatable }) {
			const at = now();
			const { keyId, name: keyName } = principal;
			const address = peer.remoteAddress ?? "";
			try {
				const count = repeatable ? counted(`${keyId} ${action}`, networkOf(peer), at) : 0;
				const isAlone = count <= MOST_ALONE;
				if (!isAlone && !Number.isInteger(Math.log2(count / MOST_ALONE))) return;
				const entry = { at, keyId, keyName, address, action, subject, result, ...(!isAlone && { count }) };
				await audit.append({ entry });
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

/** The audit log of administrators' changes (D42). */
import type { AuditEntry } from "../../store/contract/audit.ts";
import type { EpochMs } from "../../lib/time.ts";
import type { EngineContext } from "../context.ts";
import { invalidCursor } from "../invalid-cursor.ts";
import { networkOf, type Peer } from "../../core/access/network.ts";
import type { Principal } from "./keys.ts";

const EXPIRE_EVERY_MS = 3_600_000;

const EXPIRED_AT_ONCE = 1000;

/** Period in which repeated calls are counted, and how many of them have an entry each. */
const REPEATED_MS = 3_600_000;
const MOST_ALONE = 10;

const MOST_ADDRESSES = 20;

type Call = Pick<AuditEntry, "action" | "subject" | "result" | "requestId"> & {
	principal: Principal;
	peer: Peer;
	repeatable: boolean;
};

export function auditLog({ now, budgets, events, store: { audit } }: EngineContext) {
	let expiredAt = -Infinity;

	async function expire(at: number): Promise<void> {
		if (at - expiredAt < EXPIRE_EVERY_MS) return;
		expiredAt = at;
		await audit.expire({ before: at - budgets.auditRetention.limit, limit: EXPIRED_AT_ONCE });
	}

	const repeated = new Map<string, Map<string, number>>();
	let repeatedSince = -Infinity;

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
		/**
		 * Resolves also when the entry could not be stored. The more often a `repeatable` call is repeated, the rarer its
		 * entries.
		 */
		async record({ principal, peer, repeatable, ...call }: Call): Promise<void> {
			const at = now();
			const { keyId, name: keyName } = principal;
			const address = peer.remoteAddress ?? "";
			try {
				const count = repeatable ? counted(`${keyId} ${call.action}`, networkOf(peer), at) : 0;
				const isAlone = count <= MOST_ALONE;
				if (!isAlone && !Number.isInteger(Math.log2(count / MOST_ALONE))) return;
				const entry = { at, keyId, keyName, address, ...call, ...(!isAlone && { count }) };
				await audit.append({ entry });
				await expire(at);
			} catch (error) {
				events.emit("fault", { where: "writing the audit log", error });
			}
		},
		/** Returns the newest first. Throws `bad_query` for an invalid cursor. */
		list: (q: Parameters<typeof audit.list>[0]) =>
			audit.list(q).catch((error: unknown) => {
				throw invalidCursor(error, q.cursor);
			}),
	};
}

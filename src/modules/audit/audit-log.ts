/** The audit log of administrators' changes (D42). */
import type { AuditEntry } from "../../kernel/store/contract/records.ts";
import type { EpochMs } from "../../kernel/lib/time.ts";
import type { EngineContext } from "../../kernel/engine/context.ts";
import { invalidCursor } from "../../kernel/core/errors.ts";
import { networkOf, type Peer } from "../../kernel/core/access/network.ts";
import type { Principal } from "../../kernel/engine/access/keys.ts";

const EXPIRE_EVERY_MS = 3_600_000;

const EXPIRED_AT_ONCE = 1000;

/** Period in which repeated calls are counted, and how many of them have an entry each. */
const REPEATED_MS = 3_600_000;
const MOST_ALONE = 10;

const MOST_ADDRESSES = 20;

/** Period in which reads of one object's values by one key have one entry. */
const SHOWN_MS = 600_000;

/** Objects of one entry, which a page shows together. */
const MOST_SUBJECTS = 50;

type Call = Pick<AuditEntry, "action" | "subject" | "result" | "requestId"> & {
	principal: Principal;
	peer: Peer;
	repeatable: boolean;
};

type Shown = Pick<Call, "action" | "requestId" | "principal" | "peer"> & { ids: readonly string[] };

type Needs = Pick<EngineContext, "now" | "budgets" | "events" | "store">;

export type AuditLog = ReturnType<typeof auditLog>;

export function auditLog({ now, budgets, events, store: { audit } }: Needs) {
	let expiredAt = -Infinity;

	async function expire(at: number): Promise<void> {
		if (at - expiredAt < EXPIRE_EVERY_MS) return;
		expiredAt = at;
		await audit.expire({ before: at - budgets.auditRetention.limit, limit: EXPIRED_AT_ONCE });
	}

	/** What keys were shown in this period. */
	const shown = new Set<string>();
	let shownSince = -Infinity;

	function notShownYet(keyId: string, ids: readonly string[], at: EpochMs): string[] {
		if (at < shownSince || at - shownSince >= SHOWN_MS) {
			shown.clear();
			shownSince = at;
		}
		return ids.filter((id) => !shown.has(`${keyId} ${id}`));
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

	/** Whether it is stored. */
	async function append(entry: AuditEntry): Promise<boolean> {
		let isStored = false;
		try {
			await audit.append({ entry });
			isStored = true;
			await expire(entry.at);
		} catch (error) {
			events.emit("fault", { where: "writing the audit log", error });
		}
		return isStored;
	}

	return {
		/** That the caller was shown values which are stored encrypted. Resolves also when it could not be stored. */
		async shown({ principal, peer, ids, ...call }: Shown): Promise<void> {
			const at = now();
			const { keyId, name: keyName } = principal;
			const fresh = notShownYet(keyId, ids, at);
			const entry = { at, keyId, keyName, address: peer.remoteAddress ?? "", result: "ok", ...call };
			for (let from = 0; from < fresh.length; from += MOST_SUBJECTS) {
				const subject = fresh.slice(from, from + MOST_SUBJECTS);
				const isStored = await append({ ...entry, subject });
				// Else the next read has the entry; reads at one time may have one each.
				if (isStored) for (const id of subject) shown.add(`${keyId} ${id}`);
			}
		},

		/**
		 * Resolves also when the entry could not be stored. The more often a `repeatable` call is repeated, the rarer its
		 * entries.
		 */
		async record({ principal, peer, repeatable, ...call }: Call): Promise<void> {
			const at = now();
			const { keyId, name: keyName } = principal;
			const address = peer.remoteAddress ?? "";
			const count = repeatable ? counted(`${keyId} ${call.action}`, networkOf(peer), at) : 0;
			const isAlone = count <= MOST_ALONE;
			if (!isAlone && !Number.isInteger(Math.log2(count / MOST_ALONE))) return;
			await append({ at, keyId, keyName, address, ...call, ...(!isAlone && { count }) });
		},
		/** Returns the newest first. Throws `bad_query` for an invalid cursor. */
		list: (q: Parameters<typeof audit.list>[0]) =>
			audit.list(q).catch((error: unknown) => {
				throw invalidCursor(error, q.cursor);
			}),
	};
}
